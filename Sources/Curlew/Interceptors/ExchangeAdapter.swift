public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// Changes the requests on the wire: each attempt, each redirect, and each request that is sent again with credentials.
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
/// fields. Its changes apply to that exchange only: not to the next redirect, not to a retry.
///
/// It may change header fields, the method, the path and the query, and a body in memory. An `httpBody` of `nil` keeps
/// a body that comes from a file or a stream. A change of the origin, the timeout, the cache policy or a body stream
/// fails with `.unsupported`. Curlew's own rules (redirects, retries, cookies) apply to the request as it was before.
///
/// - Warning: It is called for redirects to other origins too, which the server chooses. Curlew drops the secret fields
///   that a request has on such a redirect, but not those that an adapter sets anew. Set a key or a token only if
///   `exchange.leavesOrigin` is false, or in a `RequestAdapter`.
///
/// Exchange adapters run one after the other, before middleware and the cache. They see a challenge only if Curlew
/// answers it: libcurl repeats a request with the request's own credentials within one exchange.
///
/// What repeats a request below them sends the same fields again: the second copy of a hedged request, a middleware
/// that calls `next` twice, and the revalidation of a stale response in the background. So a field that must be new each
/// time, such as a nonce, does not go with hedging.
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
    /// The number of earlier exchanges in all attempts: redirects, retries, and requests that were sent again with
    /// credentials. Requests that a middleware repeats, and segments of a download, are not counted. OpenTelemetry's
    /// `http.request.resend_count`.
    public let resendCount: Int
    /// The URL before adapters have changed it.
    public let url: URL
    /// The identifier of the exchange within its session. Parallel segments of a download share it, and a request that
    /// is sent again with stored credentials keeps it.
    public let task: TaskIdentifier
    /// Whether the request has a body that is not in its `httpBody`, because it is read from a file or a stream.
    public let hasStreamedBody: Bool
    /// Whether redirects have led to another origin than that of the attempt's first URL. Add no secrets of
    /// the first origin to such an exchange.
    public let leavesOrigin: Bool
    /// The template of the request's URL, which `Request.urlTemplate(_:)` sets. `nil` for redirects, whose URLs the server
    /// chooses.
    public let urlTemplate: String?

    /// Creates a description, for calling an adapter yourself.
    public init(
        requestID: UUID = UUID(),
        attempt: Int = 0,
        hop: Int = 0,
        resendCount: Int = 0,
        url: URL,
        task: TaskIdentifier,
        hasStreamedBody: Bool = false,
        leavesOrigin: Bool = false,
        urlTemplate: String? = nil
    ) {
        self.init(
            .identifier(requestID), attempt: attempt, hop: hop, resendCount: resendCount, url: url, task: task,
            hasStreamedBody: hasStreamedBody, leavesOrigin: leavesOrigin, urlTemplate: urlTemplate)
    }

    init(
        _ source: AdaptedRequest,
        attempt: Int,
        hop: Int,
        resendCount: Int,
        url: URL,
        task: TaskIdentifier,
        hasStreamedBody: Bool,
        leavesOrigin: Bool,
        urlTemplate: String?
    ) {
        self.source = source
        self.attempt = attempt
        self.hop = hop
        self.resendCount = resendCount
        self.url = url
        self.task = task
        self.hasStreamedBody = hasStreamedBody
        self.leavesOrigin = leavesOrigin
        self.urlTemplate = urlTemplate
    }
}

extension Request {
    /// Adds an adapter of every request on the wire, after the session's and the existing ones.
    @discardableResult
    public func exchangeAdapter(_ adapter: any ExchangeAdapter) -> Self {
        record.withLock { $0.ensureExtras().options.exchangeAdapters.append(adapter) }
        return self
    }
}

/// The request of an exchange, as exchange adapters and middleware see it, and the conversion of their answer.
///
///     sent: TransferRequest ──▶ view: URLRequest ── user code ──▶ changed(by:): TransferRequest
///
/// Only differences from the view are applied. Parts that a `URLRequest` cannot express (repeated fields, a body that
/// is read while it is sent, credentials for libcurl) are kept unless they were replaced. An `Authorization` field is
/// sent in place of libcurl's Basic credentials.
///
/// | part | may be changed |
/// |---|---|
/// | header fields | yes; a removed field of the session is not sent either |
/// | method | yes |
/// | URL | within the origin: the path and the query |
/// | body in memory | yes; none with `nil` or empty data |
/// | body of a file or stream | only replaced by data, without its trailers; `nil` keeps it |
/// | everything else | no: `.unsupported` |
struct WireRequest: Sendable {
    let sent: TransferRequest
    /// The request as user code sees it.
    let view: URLRequest
    /// Whether path segments such as `..` are sent unchanged.
    private let keepsDotSegments: Bool

    init(_ sent: TransferRequest, keepsDotSegments: Bool = false) {
        self.sent = sent
        self.keepsDotSegments = keepsDotSegments
        let fields = Array(sent.effectiveHeaders.joined)
        var view = RequestSnapshot(sent.url, sent.method, fields).urlRequest
        if case .data(let data) = sent.body { view.httpBody = data }
        self.view = view
    }

    /// Whether the body is not part of the view.
    var hasStreamedBody: Bool {
        switch sent.body {
        case .none, .data: false
        case .file, .stream: true
        }
    }

    /// Returns the request with the changes of the answer.
    func changed(by answer: URLRequest) throws(CurlewError) -> TransferRequest {
        if answer.isCopy(of: view) { return sent }
        guard answer.timeoutInterval == view.timeoutInterval, answer.cachePolicy == view.cachePolicy,
            answer.networkServiceType == view.networkServiceType,
            answer.httpShouldHandleCookies == view.httpShouldHandleCookies
        else {
            throw CurlewError.exchangeIsFixed(
                "the timeout, the cache policy, the service type and the use of cookies are those of the request")
        }
        var next = sent
        try changeURL(of: &next, answer)
        try changeFields(of: &next, answer)
        if answer.httpMethod != view.httpMethod {
            let method = answer.method ?? .get
            guard method.isValid else {
                throw CurlewError(
                    .requestCreationFailed, phase: .adaptation, reason: "the method is not a valid HTTP token")
            }
            next.method = method
        }
        try changeBody(of: &next, answer)
        let isNew = answer.httpMethod != view.httpMethod || answer.httpBody != view.httpBody
        if isNew, next.method == .get, case .data(let body) = next.body { throw .bodyNotAllowed(body) }
        return next
    }

    // MARK: Parts

    private func changeURL(of next: inout TransferRequest, _ answer: URLRequest) throws(CurlewError) {
        guard let url = answer.url?.absoluteURL else {
            throw CurlewError(.invalidURL, phase: .adaptation, reason: "the request has no URL")
        }
        guard url != sent.url else { return }
        // Cookies, credentials, the proxy and HSTS were chosen for this origin.
        guard RedirectLocation.isSameOrigin(url, sent.url) else {
            throw CurlewError.exchangeIsFixed(
                "the origin is that of the request; a RequestAdapter can change it", url: url)
        }
        guard url.user(percentEncoded: true) == nil, url.password(percentEncoded: true) == nil else {
            throw CurlewError.exchangeIsFixed(
                "credentials in the URL are not sent; set the field Authorization", url: url)
        }
        next.url = keepsDotSegments ? url : DotSegments.removed(from: url)
    }

    private func changeFields(of next: inout TransferRequest, _ answer: URLRequest) throws(CurlewError) {
        let (before, after) = (Self.folded(view), Self.folded(answer))
        let removed = before.keys.filter { after[$0] == nil }
        for name in removed { next.headers.remove(name: name) }
        if !removed.isEmpty { next.defaultHeaders = next.defaultHeaders?.without(removed) }
        // Sorted, so that equal requests are sent in equal form.
        for (name, field) in after.sorted(by: { $0.key < $1.key }) where before[name]?.value != field.value {
            guard field.isValid else { throw .invalidHeader(field) }
            next.headers.add(field)
        }
        changeDecoding(of: &next)
    }

    /// Turns decoding off if the fields now ask for the identity coding. Turns it on if they did so before, unless they
    /// ask for a range, whose bytes are counted as sent.
    private func changeDecoding(of next: inout TransferRequest) {
        let asksForIdentity = next.headers.asksForIdentity
        if asksForIdentity == true { next.options.decodesContent = false }
        let askedBefore = sent.effectiveHeaders.asksForIdentity == true
        if askedBefore, asksForIdentity == false, !next.headers.contains(name: "Range") {
            next.options.decodesContent = true
        }
    }

    private func changeBody(of next: inout TransferRequest, _ answer: URLRequest) throws(CurlewError) {
        guard answer.httpBodyStream == nil else {
            throw CurlewError.exchangeIsFixed("a new body has to be data")
        }
        let body = answer.httpBody
        guard body != view.httpBody else { return }
        next.body = if let body, !body.isEmpty { .data(body) } else { .none }
        // The trailers belong to the body that was replaced.
        next.trailers = nil
        // The transport adds the length of the new body.
        next.headers.remove(name: "Content-Length")
    }

    /// Returns the fields by their names in lower case. Foundation changes the case of names.
    private static func folded(_ request: URLRequest) -> [String: HTTPHeader] {
        let fields = RequestSnapshot.made(request).fields.map { ($0.name.lowercased(), $0) }
        return Dictionary(fields, uniquingKeysWith: { _, last in last })
    }
}

extension HTTPHeaders {
    /// The fields as `URLRequest` can keep them: one for each name, with all values.
    fileprivate var joined: HTTPHeaders {
        var joined = HTTPHeaders()
        for field in self where !joined.contains(name: field.name) {
            // RFC 9110, 5.3 and RFC 6265, 4.2.
            let separator = ASCII.equalsIgnoringCase(field.name, "Cookie") ? "; " : ", "
            joined.append(name: field.name, value: values(for: field.name).joined(separator: separator))
        }
        return joined
    }
}
