public import CurlewCore
public import Foundation
public import FoundationNetworking

/// Changes a `URLRequest` before it is sent, for instance to add a token, sign the request, or send it to another host.
///
/// Adapters run once for each attempt, one after the other, and not again for redirects. Cancelling the request cancels
/// the task that runs them, and the request ends once they have returned.
public protocol RequestAdapter: Sendable {
    /// Returns the request to send. `state` has the session and the request's identity. An error that is thrown ends
    /// the attempt with `.adaptationFailed`.
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest
}

/// Decides whether a failed request is retried.
///
/// A cancelled request is never retried. Retries without a pause are slowed down from the sixth on, and the hundred and
/// first ends the request with `.retryFailed`. If a redirect led to another origin and dropped the request's
/// credentials, no retrier is asked about a 401, because another attempt would lose them again.
public protocol RequestRetrier: Sendable {
    /// The statuses about which this retrier is asked even if the awaiting method accepts them, as `response()` does.
    /// Empty by default; a `RetryPolicy` lists the statuses that it retries.
    var retryableHTTPStatusCodes: Set<Int> { get }

    /// Returns whether and when the request is retried. Cancelling the request cancels the task that calls this method.
    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult
}

extension RequestRetrier {
    /// Empty by default: the retrier is asked about failures only.
    public var retryableHTTPStatusCodes: Set<Int> { [] }
}

/// The decision of a retrier.
public enum RetryResult: Sendable {
    /// Retry at once.
    case retry
    /// Retry after a delay in seconds.
    case retryWithDelay(TimeInterval)
    /// Do not retry. The next retrier is asked; if there is none, the request fails with its error.
    case doNotRetry
    /// Do not retry, and fail with this error.
    case doNotRetryWithError(any Error)
}

/// An adapter and a retrier in one, for instance for authentication.
///
/// Implement one of the two methods, or both. The parameters must have exactly the types of the protocol: a method with
/// another type, such as `dueTo error: any Error`, compiles but is never called.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// Returns the request unchanged.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        urlRequest
    }

    /// Returns `.doNotRetry`.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        .doNotRetry
    }
}

/// Combines several adapters and retriers.
///
/// Adapters run one after the other, each on the request that the previous one returned, until the first that fails.
/// Retriers are asked one after the other until the first answer that is not `doNotRetry`.
public struct Interceptor: RequestInterceptor {
    /// The adapters, in the order in which they change the request.
    package let adapters: [any RequestAdapter]
    /// The retriers, in the order in which they are asked.
    package let retriers: [any RequestRetrier]

    /// Creates an interceptor of one adapter and one retrier.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Creates an interceptor of several parts. `interceptors` adapt after `adapters` and are asked after `retriers`.
    public init(
        adapters: [any RequestAdapter] = [],
        retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Passes the request through every adapter.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        var request = urlRequest
        for adapter in adapters { request = try await adapter.adapt(request, using: state) }
        return request
    }

    /// The statuses of all retriers.
    public var retryableHTTPStatusCodes: Set<Int> { retriers.retryableHTTPStatusCodes }

    /// Asks the retriers in order.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        for retrier in retriers {
            let result = await retrier.retry(request, for: session, dueTo: error)
            guard case .doNotRetry = result else { return result }
        }
        return .doNotRetry
    }
}

/// An adapter that calls a closure.
///
///     let token = Adapter { request, _ in
///         var request = request
///         request.headers.add(.authorization(bearerToken: try await tokens.current()))
///         return request
///     }
public struct Adapter: RequestInterceptor {
    private let closure: @Sendable (URLRequest, Session) async throws -> URLRequest

    /// Creates an adapter from a closure.
    public init(_ adapt: @escaping @Sendable (_ request: URLRequest, _ session: Session) async throws -> URLRequest) {
        closure = adapt
    }

    /// Calls the closure.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await closure(urlRequest, state.session)
    }
}

/// A retrier that calls a closure.
public struct Retrier: RequestInterceptor {
    private let closure: @Sendable (Request, Session, CurlewError) async -> RetryResult

    /// Creates a retrier from a closure.
    public init(
        _ retry: @escaping @Sendable (_ request: Request, _ session: Session, _ error: CurlewError) async -> RetryResult
    ) {
        closure = retry
    }

    /// Calls the closure.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await closure(request, session, error)
    }
}

extension [any RequestRetrier] {
    /// The statuses of all retriers.
    package var retryableHTTPStatusCodes: Set<Int> { reduce(into: []) { $0.formUnion($1.retryableHTTPStatusCodes) } }
}

/// The request that an adapter is called for. A request makes its identifier when it is first read.
enum AdaptedRequest: Sendable {
    case request(Request)
    case identifier(UUID)

    var id: UUID {
        switch self {
        case .request(let request): request.id
        case .identifier(let id): id
        }
    }
}

/// The context in which an adapter is called.
public struct RequestAdapterState: Sendable {
    /// The session that runs the request.
    public let session: Session
    private let source: AdaptedRequest

    /// The identifier of the request that is being adapted.
    public var requestID: UUID { source.id }

    /// The request that is being adapted. `nil` if the state was made for calling an adapter directly.
    package var request: Request? {
        switch source {
        case .request(let request): request
        case .identifier: nil
        }
    }

    /// Creates a state for calling an adapter yourself.
    public init(requestID: UUID, session: Session) {
        self.session = session
        source = .identifier(requestID)
    }

    init(request: Request, session: Session) {
        self.session = session
        source = .request(request)
    }
}

/// Decides about a redirect before it is followed.
///
/// The session's own rules (limits, origins, methods) are applied first, and `request` is the request that they would
/// send. Return `nil` to refuse the redirect, which then is the response.
public protocol RedirectHandler: Sendable {
    /// Returns the request to send next, or `nil` to refuse the redirect.
    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest?
}

/// A redirect handler that follows, refuses or changes redirects.
public struct Redirector: RedirectHandler {
    /// The action that a `Redirector` takes.
    public enum Behavior: Sendable {
        /// Follows the redirect.
        case follow
        /// The redirect itself is the response.
        case doNotFollow
        /// Sends the request that the closure returns. If it returns `nil`, the redirect itself is the response.
        case modify(
            @Sendable (_ task: TaskIdentifier, _ request: URLRequest, _ response: HTTPURLResponse) -> URLRequest?
        )
    }

    /// The action that this redirector takes.
    package let rule: Behavior

    /// Creates a redirector.
    public init(behavior: Behavior) { rule = behavior }

    /// Applies `behavior` to the redirect.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        switch rule {
        case .follow: request
        case .doNotFollow: nil
        case .modify(let change): change(task, request, response)
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// Follows redirects: `redirect(using: .follow)`.
    public static var follow: Redirector { Redirector(behavior: .follow) }

    /// Leaves redirects as they are: `redirect(using: .doNotFollow)`.
    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// Sends the request that the closure returns. If it returns `nil`, the redirect itself is the response.
    public static func modify(
        using closure: @escaping @Sendable (TaskIdentifier, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector {
        Redirector(behavior: .modify(closure))
    }
}
