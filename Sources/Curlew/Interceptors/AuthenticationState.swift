internal import Foundation

/// What an authentication interceptor knows, and what it decides under its lock.
struct AuthenticationState<Credential: AuthenticationCredential & Sendable>: Sendable {
    /// A refresh. Those that wait for it take the credential from here after it.
    typealias Flight = SingleFlight<Result<Void, any Error>>

    enum Refreshing: Sendable {
        case idle
        /// `isAwaited`: requests that are not sent yet wait for it, so new ones do too.
        case running(Flight, isAwaited: Bool)
        case failed(any Error)
    }

    enum AdaptAction {
        case apply(Credential)
        case wait(Flight)
        /// Refresh this credential, then adapt.
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
    /// Counts every change, so that a failure is told from one of a credential that is gone.
    private(set) var version = 0
    private var refreshTimes: [TimeInterval] = []

    init(credential: Credential?) { self.credential = credential }

    /// A credential from outside: whatever is being refreshed is out of date.
    mutating func replaceCredential(_ new: Credential?) -> Replaced {
        version += 1
        return Replaced(credential: exchange(&credential, with: new), refreshing: exchange(&refreshing, with: .idle))
    }

    /// What was replaced can be the last reference to an object of the user's: it is let go of without the lock.
    struct Replaced {
        var credential: Credential?
        var refreshing = Refreshing.idle
    }

    /// `requiresRefresh`: what the credential with this version says, which was asked without the lock. Nil where the
    /// credential is another one by now.
    mutating func adapt(_ requiresRefresh: Bool, of version: Int) -> (action: AdaptAction, replaced: Replaced)? {
        if case .running(let flight, isAwaited: true) = refreshing { return (.wait(flight), Replaced()) }
        guard let credential else { return (.fail(AuthenticationError.missingCredential), Replaced()) }
        switch refreshing {
        case .running: return (.apply(credential), Replaced())
        case .idle, .failed:
            guard version == self.version else { return nil }
            let replaced = Replaced(refreshing: refreshing)
            if requiresRefresh { return (.refresh(begin(isAwaited: true), credential), replaced) }
            refreshing = .idle
            return (.apply(credential), replaced)
        }
    }

    /// `version` is that of the credential which the request's own was compared with.
    mutating func retry(comparedWith version: Int) -> RetryAction {
        guard version == self.version else { return .retry }
        guard let credential else { return .fail(AuthenticationError.missingCredential) }
        switch refreshing {
        case .failed(let error): return .fail(error)
        case .running(let flight, _): return .wait(flight)
        case .idle: return .refresh(begin(isAwaited: false), credential)
        }
    }

    private mutating func begin(isAwaited: Bool) -> Flight {
        let flight = Flight()
        refreshing = .running(flight, isAwaited: isAwaited)
        return flight
    }

    /// Notes a refresh, unless there were too many within the window.
    mutating func mayRefresh(at now: TimeInterval, window: (interval: TimeInterval, maximumAttempts: Int)?) -> Bool {
        guard let window else { return true }
        refreshTimes.removeAll { now - $0 > window.interval }
        guard refreshTimes.count < window.maximumAttempts else { return false }
        refreshTimes.append(now)
        return true
    }

    /// Takes the refresh's result, unless it was overtaken by a credential from outside. A failure is then none for those that
    /// waited: the other credential may do.
    mutating func refreshEnded(
        _ flight: Flight,
        with result: Result<Credential, any Error>
    ) -> (outcome: Result<Void, any Error>, replaced: Replaced) {
        guard case .running(let current, _) = refreshing, current === flight else { return (.success(()), Replaced()) }
        switch result {
        case .success(let new): return (.success(()), replaceCredential(new))
        case .failure(let error):
            return (.failure(error), Replaced(refreshing: exchange(&refreshing, with: .failed(error))))
        }
    }
}
