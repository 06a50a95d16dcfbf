internal import CurlewLocks
public import FoundationNetworking

/// Wraps one exchange: the request on the wire, and its reply.
///
///     struct Timing: RequestMiddleware {
///         func intercept(_ request: URLRequest, next: Next) async throws -> Reply {
///             let start = ContinuousClock.now
///             let reply = try await next(request)
///             print(request.url?.path ?? "", reply.head.status, ContinuousClock.now - start)
///             return reply
///         }
///     }
///
/// A middleware may change the request and the reply, send the request several times, or reply without sending it. It
/// is called for every request on the wire: each attempt, each redirect, each answered challenge, each segment of a
/// download. Redirects, retries, cookies and validation happen around it and go by the reply that it returns. The cache
/// is inside: a stored response is a reply like any other. WebSockets are not wrapped.
///
/// - The request may be changed as by an `ExchangeAdapter`, and the change concerns this exchange alone.
/// - If the body is kept in memory, `next` returns with all of it. The body of a download or a stream arrives while it
///   is read, and slows down the sender if nobody reads. So does a body that an asynchronous `onHTTPResponse` closure
///   may turn into a file.
/// - Cancelling the request, and its total timeout, cancel the task of the middleware. The request ends when the
///   middleware has returned.
/// - Only the returned reply counts. The `Set-Cookie` and `Strict-Transport-Security` fields, the metrics, the trailers
///   and the informational responses of other replies, such as those before a retry inside the middleware, are lost.
///   The returned reply's informational responses are delivered with it. A reply that was kept from an earlier exchange
///   is delivered without those two fields, because it would set its old cookies again.
///
/// - Warning: It is called for redirects to other origins too, which the server chooses. Curlew drops the secret fields
///   that a request has on such a redirect, but not those that a middleware sets anew. Set keys and tokens in a
///   `RequestAdapter`, or in an `ExchangeAdapter`, which learns of it from `ExchangeInfo.leavesOrigin`.
public protocol RequestMiddleware: Sendable {
    /// Returns the reply. `next` sends a request to the next middleware, or over the network.
    ///
    /// An error that is thrown ends the exchange: a `CurlewError` unchanged, any other error as `.adaptationFailed`.
    func intercept(_ request: URLRequest, next: Next) async throws -> Reply
}

/// The rest of the chain: further middleware, the cache, and the network.
///
/// It may be called several times, also at the same time, or not at all. Every call is a request of its own, and a
/// reply that is not used ends its transfer. After `intercept` of the session's first middleware has returned, a call
/// throws `.unsupported`.
///
/// A body that can be read only once can be sent only once. No streamed body is sent while another call sends it or
/// receives its response. A call that would do either throws `.bodyUnavailable`.
public struct Next: Sendable {
    private let proceed: @Sendable (URLRequest) async throws -> Reply

    /// Creates the end of a chain, for calling a middleware yourself.
    public init(_ proceed: @escaping @Sendable (URLRequest) async throws -> Reply) { self.proceed = proceed }

    /// Sends the request, and returns its reply when the head has arrived, or with a body in memory.
    public func callAsFunction(_ request: URLRequest) async throws -> Reply { try await proceed(request) }
}

extension Request {
    /// Adds a middleware inside of the session's and the existing ones.
    @discardableResult
    public func middleware(_ middleware: any RequestMiddleware) -> Self {
        record.withLock { $0.ownExtras.options.middleware.append(middleware) }
        return self
    }
}
