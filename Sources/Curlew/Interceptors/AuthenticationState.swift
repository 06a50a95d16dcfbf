internal import CurlewCore
internal import Foundation

/// The state of an authentication interceptor, and the decisions that it makes under its lock.
struct AuthenticationState<Credential: AuthenticationCredential & Sendable>: Sendable {
    /// A refresh. Its waiters read the new credential from the state.
    typealias Flight = OneShot<Result<Void, any Error>>

    enum Refreshing: Sendable {
        case idle
        /// If `isAwaited`, requests that have not been sent yet wait for the refresh, and new ones do too. Otherwise a
        /// rejected request began it, and new requests are sent with the old credential.
        case running(Flight, isAwaited: Bool)
        /// If `isFinal`, another refresh of this credential would fail as well.
        case failed(any Error, isFinal: Bool)
    }

    enum AdaptAction {
        case apply(Credential)
        case wait(Flight)
        /// Refreshes this credential, then decides again.
        case refresh(Flight, Credential)
        case fail(any Error)
    }

    enum RetryAction {
        case retry
        case wait(Flight)
        case refresh(Flight, Credential)
        case fail(any Error)
    }

    var refreshing = Refreshing.idle
    private(set) var credential: Credential?
    /// The number of times that the credential was replaced. Tells a failure of the current credential from one of an
    /// earlier credential.
    private(set) var version = 0
    private var refreshTimes: [TimeInterval] = []
    /// The error of the last refresh; `nil` if it succeeded, or if the credential was replaced since.
    private(set) var lastError: (any Error)?

    init(credential: Credential?) { self.credential = credential }

    /// Replaces the credential. The result of a refresh that is still running is then ignored.
    mutating func replaceCredential(_ new: Credential?) -> Replaced {
        version += 1
        return Replaced(
            credential: exchange(&credential, with: new), refreshing: exchange(&refreshing, with: .idle),
            lastError: exchange(&lastError, with: nil))
    }

    /// The replaced values. They may hold the last reference to a user's object, so the caller releases them without
    /// the lock.
    struct Replaced {
        var credential: Credential?
        var refreshing = Refreshing.idle
        var lastError: (any Error)?
    }

    /// Decides about a request that is about to be sent. `requiresRefresh` was asked of the credential with this
    /// version, without the lock. Returns `nil` if the credential has been replaced since: ask again.
    mutating func adapt(_ requiresRefresh: Bool, of version: Int) -> (action: AdaptAction, replaced: Replaced)? {
        if case .running(let flight, isAwaited: true) = refreshing { return (.wait(flight), Replaced()) }
        guard let credential else { return (.fail(AuthenticationError.missingCredential), Replaced()) }
        switch refreshing {
        case .running: return (.apply(credential), Replaced())
        case .idle, .failed:
            guard version == self.version else { return nil }
            if case .failed(let error, isFinal: true) = refreshing {
                return (requiresRefresh ? .fail(error) : .apply(credential), Replaced())
            }
            let replaced = Replaced(refreshing: refreshing)
            if requiresRefresh { return (.refresh(begin(isAwaited: true), credential), replaced) }
            refreshing = .idle
            return (.apply(credential), replaced)
        }
    }

    /// Decides about a request whose credential was rejected. `version` is that of the credential with which the
    /// request's was compared.
    mutating func retry(comparedWith version: Int) -> RetryAction {
        guard version == self.version else { return .retry }
        guard let credential else { return .fail(AuthenticationError.missingCredential) }
        switch refreshing {
        case .failed(let error, _): return .fail(error)
        case .running(let flight, _): return .wait(flight)
        case .idle: return .refresh(begin(isAwaited: false), credential)
        }
    }

    private mutating func begin(isAwaited: Bool) -> Flight {
        let flight = Flight()
        refreshing = .running(flight, isAwaited: isAwaited)
        return flight
    }

    /// Records a refresh. Returns `false` if there were too many within the window.
    mutating func mayRefresh(at now: TimeInterval, window: (interval: TimeInterval, maximumAttempts: Int)?) -> Bool {
        guard let window else { return true }
        refreshTimes.removeAll { now - $0 > window.interval }
        guard refreshTimes.count < window.maximumAttempts else { return false }
        refreshTimes.append(now)
        return true
    }

    /// Whether the refresh is running, and the credential was not replaced meanwhile.
    func isRunning(_ flight: Flight) -> Bool {
        if case .running(let current, _) = refreshing { current === flight } else { false }
    }

    /// Stores the result of the refresh, unless the credential was replaced meanwhile. In that case the waiters ignore
    /// a failure too, and try again with the replacement.
    mutating func refreshEnded(
        _ flight: Flight,
        with result: Result<Credential, any Error>,
        isFinal: Bool
    ) -> (outcome: Result<Void, any Error>, replaced: Replaced) {
        guard isRunning(flight) else { return (.success(()), Replaced()) }
        switch result {
        case .success(let new): return (.success(()), replaceCredential(new))
        case .failure(let error):
            let replaced = Replaced(
                refreshing: exchange(&refreshing, with: .failed(error, isFinal: isFinal)),
                lastError: exchange(&lastError, with: error))
            return (.failure(error), replaced)
        }
    }
}
