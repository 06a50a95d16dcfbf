public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// Changes every request on the wire: each attempt, each redirect, and each request that is sent again with
/// credentials.
///
///     struct Tracing: ExchangeAdapter {
///         func adapt(_ urlRequest: URLRequest, for exchange: ExchangeInfo) async throws -> URLRequest {
///             var request = urlRequest
///             request.setValue(Span.current.child().header, forHTTPHeaderField: "traceparent")
///             return request
///         }
///     }
///
/// A `RequestAdapter` describes the request, once for each attempt: its fields are in the request's history, and
/// redirects within the origin keep them. An exchange adapter works on the finished request, with cookies and default
/// fields. What it changes is sent with that exchange alone: not with the next redirect, not with a retry.
///
/// It may change header fields, the method, the path and the query, and a body in memory. An `httpBody` of `nil` keeps
/// a body that comes from a file or a stream. A change of the origin, the timeout, the cache policy or a body stream
/// fails with `.unsupported`. Curlew's own rules (redirects, retries, cookies) go by the request as it was before.
///
/// - Warning: It is called for redirects to other origins too, which the server chooses. Curlew drops the secret fields
///   that a request has on such a redirect, but not those that an adapter sets anew. Set a key or a token only if
///   `exchange.leavesOrigin` is false, or in a `RequestAdapter`.
///
/// Exchange adapters run one after the other, before middleware and the cache. They see a challenge only if Curlew
/// answers it: libcurl repeats a request with the request's own credentials within one exchange.
public protocol ExchangeAdapter: Sendable {
    /// Returns the request to send. An error that is thrown ends the attempt with `.adaptationFailed`.
    func adapt(_ urlRequest: URLRequest, for exchange: ExchangeInfo) async throws -> URLRequest
}

/// The exchange that an `ExchangeAdapter` changes.
public struct ExchangeInfo: Sendable {
    private let source: AdaptedRequest
    /// The identifier of the request, `Request.id`.
    public var requestID: UUID { source.id }
    /// The number of the attempt; 0 for the first.
    public let attempt: Int
    /// The number of redirects that this attempt has followed.
    public let hop: Int
    /// The number of exchanges that came before, in all attempts: redirects, retries, and requests that were sent again
    /// with credentials. Requests that a middleware repeats, and segments of a download, are not counted.
    /// OpenTelemetry's `http.request.resend_count`.
    public let resendCount: Int
    /// The URL before adapters have changed it.
    public let url: URL
    /// The identifier of the exchange within its session. Parallel segments of a download share it, and a request that is
    /// sent again with stored credentials keeps it.
    public let task: TaskIdentifier
    /// Whether the request has a body that is not in its `httpBody`, because it is read from a file or a stream.
    public let hasStreamedBody: Bool
    /// Whether redirects have led to another origin than that of the attempt's first URL. Add no secrets of
    /// the first origin to such an exchange.
    public let leavesOrigin: Bool

    /// Creates a description, for calling an adapter yourself.
    public init(
        requestID: UUID = UUID(),
        attempt: Int = 0,
        hop: Int = 0,
        resendCount: Int = 0,
        url: URL,
        task: TaskIdentifier,
        hasStreamedBody: Bool = false,
        leavesOrigin: Bool = false
    ) {
        self.init(
            .identifier(requestID), attempt: attempt, hop: hop, resendCount: resendCount, url: url, task: task,
            hasStreamedBody: hasStreamedBody, leavesOrigin: leavesOrigin)
    }

    init(
        _ source: AdaptedRequest,
        attempt: Int,
        hop: Int,
        resendCount: Int,
        url: URL,
        task: TaskIdentifier,
        hasStreamedBody: Bool,
        leavesOrigin: Bool
    ) {
        self.source = source
        self.attempt = attempt
        self.hop = hop
        self.resendCount = resendCount
        self.url = url
        self.task = task
        self.hasStreamedBody = hasStreamedBody
        self.leavesOrigin = leavesOrigin
    }
}

extension Request {
    /// Adds an adapter of every request on the wire, after the session's and the existing ones.
    @discardableResult
    public func exchangeAdapter(_ adapter: any ExchangeAdapter) -> Self {
        record.withLock { $0.ownExtras.options.exchangeAdapters.append(adapter) }
        return self
    }
}
