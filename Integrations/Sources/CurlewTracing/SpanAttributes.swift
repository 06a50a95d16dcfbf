internal import Curlew
internal import Foundation
internal import FoundationNetworking
internal import Tracing

/// The attributes of a span that are known when its request is sent.
struct RequestAttributes {
    private let method: String
    private let isKnownMethod: Bool
    private let url: URL?
    private let template: String?
    private let resendCount: Int

    init(_ request: URLRequest, template: String?, resendCount: Int) {
        method = request.httpMethod ?? "GET"
        isKnownMethod = Self.methods.contains(method)
        url = request.url
        self.template = template
        self.resendCount = resendCount
    }

    /// The method and the template. The path is not part of the name, because it would make too many names.
    var spanName: String {
        let name = isKnownMethod ? method : "HTTP"
        return template.map { "\(name) \($0)" } ?? name
    }

    func write(to attributes: inout SpanAttributes) {
        attributes["http.request.method"] = isKnownMethod ? method : "_OTHER"
        if !isKnownMethod { attributes["http.request.method_original"] = method }
        attributes["url.template"] = template
        if resendCount > 0 { attributes["http.request.resend_count"] = resendCount }
        guard let url else { return }
        attributes["url.full"] = Redaction.redacted(url).absoluteString
        guard let origin = ConnectionSnapshot.Origin(url) else { return }
        attributes["server.address"] = origin.host
        attributes["server.port"] = origin.port
    }

    private static let methods: Set = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
    ]
}

/// The facts about an exchange, collected until its end.
struct EndedExchange: Sendable {
    let task: TaskIdentifier
    var status: Int?
    var metrics: TransferMetrics?
    /// The admission of the attempt, in its first exchange.
    var admission: Admission?

    init(task: TaskIdentifier, admission: Admission? = nil) { (self.task, self.admission) = (task, admission) }

    /// An exchange whose response was a challenge.
    init(challenged task: TaskIdentifier) { (self.task, status) = (task, 401) }

    /// Adds the attributes of the response, and ends the span at the time when the exchange ended.
    func end(_ span: any Span, error: CurlewError?) {
        span.updateAttributes { attributes in
            attributes["http.response.status_code"] = status
            attributes["error.type"] = error?.code.rawValue ?? status.flatMap { $0 >= 400 ? String($0) : nil }
            attributes["curlew.admission"] = admission?.description
            attributes["network.protocol.version"] = metrics?.httpVersion?.number
            if let peer = metrics?.remoteAddress.flatMap(PeerAddress.init) {
                attributes["network.peer.address"] = peer.address
                attributes["network.peer.port"] = peer.port
            }
        }
        let instant = (metrics?.ended ?? Date()).instant
        if let error { span.recordError(error, attributes: SpanAttributes([:]), at: instant) }
        // The description of an error has no credentials and no query values.
        if error != nil || (status ?? 0) >= 400 {
            span.setStatus(
                SpanStatus(code: .error, message: error.map { $0.reason.isEmpty ? $0.code.rawValue : $0.reason }))
        }
        span.end(at: instant)
    }
}

/// `address:port`, as metrics have it.
private struct PeerAddress {
    let address: String
    let port: Int

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else { return nil }
        address = text[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        self.port = port
    }
}

extension HTTPVersion {
    /// OpenTelemetry's `network.protocol.version`.
    fileprivate var number: String { String(rawValue.dropFirst("HTTP/".count)) }
}

extension Date {
    fileprivate var instant: DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: UInt64(max(0, timeIntervalSince1970) * 1_000_000_000))
    }
}
