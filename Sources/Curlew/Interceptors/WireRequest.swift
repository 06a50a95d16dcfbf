internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The request of an exchange, as exchange adapters and middleware see it, and the way back.
///
///     sent: TransferRequest ──▶ view: URLRequest ── user code ──▶ changed(by:): TransferRequest
///
/// Only differences from the view are applied. What a `URLRequest` cannot express (repeated fields, a body that is read
/// while it is sent, credentials for libcurl) stays as it is unless it was replaced. An `Authorization` field is sent in place of libcurl's
/// Basic credentials.
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
        var view = RequestSnapshot.plain(url: sent.url, method: sent.method, fields: fields).urlRequest
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

    /// Decodes the body unless it is asked for as it is. A range is asked for as it is: its bytes are counted.
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
        // They follow the body that was replaced.
        next.trailers = nil
        // The transport sends the length of the body that it has.
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
