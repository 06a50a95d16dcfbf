public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// Authenticates requests, and refreshes an expired credential once for all of them.
///
/// New requests wait while an expired credential is refreshed. Requests that fail as unauthorized share one refresh and
/// are sent again. Cancelling one of them ends its wait; the refresh continues. Token requests of an ``OAuth2Client``
/// that go over the same session are sent unchanged, and wait for no refresh.
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor {
    /// The credential that the authenticator applies and refreshes.
    public typealias Credential = AuthenticatorType.Credential

    /// The maximum number of refreshes within a time interval.
    public struct RefreshWindow: Sendable, Hashable {
        /// The window's length in seconds.
        public let interval: TimeInterval
        /// The maximum number of refreshes in the window.
        public let maximumAttempts: Int

        /// Creates a window; the defaults are five refreshes in 30 seconds.
        public init(interval: TimeInterval = 30.0, maximumAttempts: Int = 5) {
            self.interval = interval
            self.maximumAttempts = maximumAttempts
        }
    }

    /// The current credential. Setting it, for instance after a login, takes precedence over a refresh in progress.
    public var credential: Credential? {
        get { state.withLock { $0.credential } }
        set { _ = state.withLock { $0.replaceCredential(newValue) } }
    }

    let authenticator: AuthenticatorType
    private let refreshWindow: RefreshWindow?
    private let state: Lock<AuthenticationState<Credential>>

    /// Creates an interceptor. Without a refresh window, refreshes are not limited.
    public init(
        authenticator: AuthenticatorType,
        credential: Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow()
    ) {
        self.authenticator = authenticator
        self.refreshWindow = refreshWindow
        state = Lock(AuthenticationState(credential: credential))
    }

    /// Applies the credential, after a refresh if it requires one.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if UserCode.isForTokenRequest { return urlRequest }
        let session = state.session
        // The requests that a refresh sends must not wait for it.
        if isInsideRefresh { return withoutRefresh(urlRequest) }
        while true {
            try Task.checkCancellation()
            let (current, version) = self.state.withLock { ($0.credential, $0.version) }
            // Called without the lock, because it is user code.
            let requiresRefresh = current?.requiresRefresh ?? false
            switch self.state.withLock({ $0.adapt(requiresRefresh, of: version) })?.action {
            case nil: continue
            case .apply(let credential): return applying(credential, to: urlRequest)
            case .fail(let error): throw error
            case .refresh(let flight, let credential):
                refresh(credential, in: flight, for: session)
                guard try await waited(for: flight) else { return withoutRefresh(urlRequest) }
            case .wait(let flight):
                guard try await waited(for: flight) else { return withoutRefresh(urlRequest) }
            }
        }
    }

    /// Retries the request with another credential if the server did not accept the one that it carried.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        guard let urlRequest = request.request, let response = request.response else { return .doNotRetry }
        return await retry(urlRequest, response, for: session, dueTo: error)
    }

    package func retry(
        _ urlRequest: URLRequest,
        _ response: HTTPURLResponse,
        for session: Session,
        dueTo error: any Error
    ) async -> RetryResult {
        guard !isInsideRefresh, !UserCode.isForTokenRequest,
            authenticator.didRequest(urlRequest, with: response, failDueToAuthenticationError: error)
        else { return .doNotRetry }
        let (current, version) = state.withLock { ($0.credential, $0.version) }
        guard let current else { return .doNotRetryWithError(AuthenticationError.missingCredential) }
        // The request was sent with an older credential; the current one may be accepted.
        guard authenticator.isRequest(urlRequest, authenticatedWith: current) else { return .retry }

        switch state.withLock({ $0.retry(comparedWith: version) }) {
        case .retry: return .retry
        case .fail(let error): return .doNotRetryWithError(error)
        case .refresh(let flight, let credential):
            refresh(credential, in: flight, for: session)
            return await retryResult(of: flight)
        case .wait(let flight): return await retryResult(of: flight)
        }
    }

    // MARK: Refreshing

    private func applying(_ credential: Credential, to urlRequest: URLRequest) -> URLRequest {
        var request = urlRequest
        authenticator.apply(credential, to: &request)
        return request
    }

    /// Applies the current credential, even if it requires a refresh.
    private func withoutRefresh(_ urlRequest: URLRequest) -> URLRequest {
        credential.map { applying($0, to: urlRequest) } ?? urlRequest
    }

    /// Waits for the refresh, and throws its error. Returns `false` if the caller must not wait.
    private func waited(for flight: AuthenticationState<Credential>.Flight) async throws -> Bool {
        switch await wait(for: flight) {
        case .circular: return false
        case .cancelled: throw CancellationError()
        case .ended(let result):
            try result.get()
            return true
        }
    }

    private func retryResult(of flight: AuthenticationState<Credential>.Flight) async -> RetryResult {
        switch await wait(for: flight) {
        case .circular, .cancelled: .doNotRetry
        case .ended(.success): .retry
        case .ended(.failure(let error)): .doNotRetryWithError(error)
        }
    }

    private enum WaitResult {
        case ended(Result<Void, any Error>)
        case cancelled
        /// Waiting would be a deadlock: the caller is part of another interceptor's refresh, and that refresh is
        /// awaited by this one.
        case circular
    }

    /// Waits for the refresh. Its code may wait in turn for all requests of a session, for instance with `drain()`; the
    /// requests that wait here are left out of that.
    private func wait(for flight: AuthenticationState<Credential>.Flight) async -> WaitResult {
        await UserCode.waiting(forRefreshOf: ObjectIdentifier(self)) {
            await flight.wait().map(WaitResult.ended) ?? .cancelled
        } ?? .circular
    }

    private func refresh(
        _ credential: Credential,
        in flight: AuthenticationState<Credential>.Flight,
        for session: Session
    ) {
        // No waiter owns the refresh: cancelling one ends only its wait.
        Task {
            // The refresh is named as the caller, because the request that started it may end first.
            let (result, isFinal) = await RequestDeadline.never {
                await UserCode.call(by: .refresh(of: ObjectIdentifier(self))) {
                    await self.refreshed(credential, in: flight, for: session)
                }
            }
            let ended = state.withLock { $0.refreshEnded(flight, with: result, isFinal: isFinal) }
            flight.resolve(ended.outcome)
        }
    }

    /// Returns the new credential, or the error and whether it is final.
    private func refreshed(
        _ credential: Credential,
        in flight: AuthenticationState<Credential>.Flight,
        for session: Session
    ) async -> (result: Result<Credential, any Error>, isFinal: Bool) {
        let now = ProcessInfo.processInfo.systemUptime
        let window = refreshWindow.map { (interval: $0.interval, maximumAttempts: $0.maximumAttempts) }
        guard state.withLock({ $0.mayRefresh(at: now, window: window) }) else {
            // The last failure tells more than the number of attempts.
            let error: any Error = state.withLock { $0.lastError } ?? AuthenticationError.excessiveRefresh
            // Not final: the authenticator's `isFinal` is asked only about errors that its own refresh has thrown, and
            // a later refresh may succeed.
            return (.failure(error), isFinal: false)
        }
        do {
            return (.success(try await authenticator.refresh(credential, for: session)), isFinal: false)
        } catch {
            // Nobody gets the error if the credential was replaced meanwhile. `isFinal` is user code, so it is called
            // without the lock.
            let isFinal =
                state.withLock { $0.isRunning(flight) } && authenticator.isFinal(error, refreshing: credential)
            return (.failure(error), isFinal)
        }
    }

    private var isInsideRefresh: Bool { UserCode.isInRefresh(of: ObjectIdentifier(self)) }
}

/// A credential that authenticates requests, for instance an OAuth token.
public protocol AuthenticationCredential {
    /// Whether the credential must be refreshed before it is used, for instance because it is about to expire.
    var requiresRefresh: Bool { get }
}

/// Applies a credential to requests, recognizes it in them, and refreshes it.
///
/// `refresh` runs once for all requests that wait for it, and continues if any of them is cancelled. Requests that it
/// makes itself do not wait for it.
public protocol Authenticator: AnyObject, Sendable {
    /// The credential that is applied to requests, and refreshed when it has expired.
    associatedtype Credential: AuthenticationCredential & Sendable

    /// Adds the credential to a request.
    func apply(_ credential: Credential, to urlRequest: inout URLRequest)

    /// Returns a new credential that replaces the old one.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Whether the request failed because the server did not accept its credential.
    func didRequest(
        _ urlRequest: URLRequest,
        with response: HTTPURLResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Whether the request carries this credential, and not an older one.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool

    /// Whether every refresh of this credential would fail after this error, which `refresh` has thrown, for instance
    /// because a refresh token is void.
    ///
    /// If so, requests with a credential that requires a refresh fail with the error at once, and others if the server
    /// rejects it, until the interceptor's `credential` is set. Otherwise, as by default, the next of them begins a
    /// refresh.
    func isFinal(_ error: any Error, refreshing credential: Credential) -> Bool
}

extension Authenticator {
    /// Returns `false`: the next request that needs a refresh begins one.
    public func isFinal(_ error: any Error, refreshing credential: Credential) -> Bool { false }
}

/// The errors that an authentication interceptor itself reports.
public enum AuthenticationError: Error, Hashable {
    /// There is no credential to authenticate with.
    case missingCredential
    /// The credential was refreshed too often: the server does not accept new ones either. If the last refresh failed,
    /// requests fail with its error instead.
    case excessiveRefresh
}

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
