internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// One exchange while it is being recorded.
struct HARExchange: Sendable {
    let request: RequestKey
    /// The request as sent. Its body is truncated to the recorder's limit, like that of the response.
    let sent: URLRequest
    let sentBodySize: Int
    /// The lower-case names of the fields that the session's configuration calls sensitive.
    let sensitiveHeaders: Set<String>
    let started: Date
    var answer: Answer?
    var body = Data()
    var bodySize = 0
    var metrics: TransferMetrics?
    var redirectURL = ""
    var failure: String?

    init(
        request: RequestKey,
        sent: URLRequest,
        maximumBodySize: Int,
        sensitiveHeaders: Set<String>,
        started: Date
    ) {
        var kept = sent
        sentBodySize = sent.httpBody?.count ?? 0
        // A copy, because a slice would keep the whole body in memory.
        if sentBodySize > maximumBodySize {
            kept.httpBody = sent.httpBody.map { Data(Array($0.prefix(maximumBodySize))) }
        }
        self.request = request
        self.sent = kept
        self.sensitiveHeaders = sensitiveHeaders
        self.started = started
    }

    struct Answer: Sendable {
        let status: Int
        /// The server's reason phrase. HTTP/2 and HTTP/3 have none, so there it is Foundation's text for the status.
        let statusText: String
        let headers: [HTTPHeader]
        /// The `Content-Type`. If the response has none, it is empty, and the redaction infers the type from the body.
        let mimeType: String

        init(_ head: ResponseHead) {
            status = head.status
            statusText = head.reason.isEmpty ? HTTPURLResponse.localizedString(forStatusCode: head.status) : head.reason
            headers = Array(head.headers).sorted { $0.name < $1.name }
            mimeType = head.headers.value(for: "Content-Type") ?? ""
        }
    }
}

/// An HTTP Archive (HAR 1.2), with the members that an HTTP client can fill in. A time of -1 means that it does not
/// apply.
struct HARArchive: Encodable {
    let log: Log

    struct Log: Encodable {
        let version = "1.2"
        let creator = Creator()
        let entries: [Entry]
        let comment: String?
    }

    struct Creator: Encodable {
        let name = "Curlew"
        let version = CurlewInfo.version
    }

    struct Entry: Encodable {
        let startedDateTime: String
        let time: Double
        let request: Sent
        let response: Received
        let cache = [String: String]()
        let timings: Timings
        let serverIPAddress: String?
        let comment: String?
    }

    struct Pair: Encodable {
        let name: String
        let value: String
    }

    struct Sent: Encodable {
        let method: String
        let url: String
        let httpVersion: String
        let cookies: [Pair] = []
        let headers: [Pair]
        let queryString: [Pair]
        let postData: Posted?
        let headersSize = -1
        let bodySize: Int
    }

    struct Posted: Encodable {
        let mimeType: String
        let text: String
    }

    struct Received: Encodable {
        let status: Int
        let statusText: String
        let httpVersion: String
        let cookies: [Pair] = []
        let headers: [Pair]
        let content: Content
        let redirectURL: String
        let headersSize = -1
        let bodySize: Int
    }

    struct Content: Encodable {
        let size: Int
        let mimeType: String
        let text: String?
        let encoding: String?
    }

    struct Timings: Encodable {
        let blocked: Double = -1
        let dns: Double
        let connect: Double
        let ssl: Double
        let send: Double
        let wait: Double
        let receive: Double
    }
}

extension HARArchive {
    init(_ exchanges: [HARExchange], dropped: Int, showsCredentials: Bool) {
        log = Log(
            entries: exchanges.map { Entry($0, showsCredentials: showsCredentials) },
            comment: dropped > 0 ? "Earlier exchanges that are missing: \(dropped)" : nil
        )
    }
}

extension HARArchive.Entry {
    init(_ exchange: HARExchange, showsCredentials: Bool) {
        let metrics = exchange.metrics
        startedDateTime = (metrics?.queued ?? exchange.started).formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted)
        )
        time = max(0, metrics?.duration ?? 0) * 1000
        timings = HARArchive.Timings(metrics)
        serverIPAddress = metrics?.remoteAddress.map(Self.host)
        comment = exchange.failure
        let version = metrics?.httpVersion?.rawValue ?? "HTTP/1.1"

        let shown = HARRedaction(showsCredentials: showsCredentials, sensitiveHeaders: exchange.sensitiveHeaders)
        let body = exchange.sent.httpBody
        let type = exchange.sent.value(forHTTPHeaderField: "Content-Type") ?? ""
        let url = exchange.sent.url?.absoluteString ?? ""
        request = HARArchive.Sent(
            method: exchange.sent.httpMethod ?? "GET",
            url: shown.url(url),
            httpVersion: version,
            headers: shown.fields(Array(exchange.sent.headers).sorted { $0.name < $1.name }),
            queryString: (URLComponents(string: shown.url(url))?.queryItems ?? []).map {
                HARArchive.Pair(name: $0.name, value: $0.value ?? "")
            },
            postData: body.map {
                HARArchive.Posted(mimeType: type, text: shown.body(String(decoding: $0, as: UTF8.self), type: type))
            },
            bodySize: exchange.sentBodySize
        )
        let content = shown.content(exchange.body, type: exchange.answer?.mimeType ?? "")
        response = HARArchive.Received(
            status: exchange.answer?.status ?? 0,
            statusText: exchange.answer?.statusText ?? "",
            httpVersion: version,
            headers: shown.fields(exchange.answer?.headers ?? []),
            content: HARArchive.Content(
                size: exchange.bodySize,
                mimeType: exchange.answer.map { $0.mimeType.isEmpty ? "application/octet-stream" : $0.mimeType }
                    ?? "x-unknown",
                text: content?.text,
                encoding: content?.encoding
            ),
            redirectURL: shown.url(exchange.redirectURL),
            bodySize: exchange.metrics.map { Int($0.bytesReceived) } ?? -1
        )
    }

    /// The host in `address:port`, without the brackets of IPv6.
    private static func host(_ address: String) -> String {
        let host = address.lastIndex(of: ":").map { String(address[..<$0]) } ?? address
        return host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    }
}

/// Removes secrets from an archive's values.
private struct HARRedaction {
    let showsCredentials: Bool
    let sensitiveHeaders: Set<String>

    func url(_ text: String) -> String { showsCredentials ? text : Redaction.reference(text) }

    func body(_ text: String, type: String) -> String {
        if showsCredentials { return text }
        // In a multipart body the headers of each part say which part is secret, so the body is left out as a whole.
        return type.lowercased().hasPrefix("multipart/") ? Redaction.replacement : Redaction.body(text, type: type)
    }

    /// Returns the body as text and the name of its encoding, or `nil` if the body is empty. Base64 hides nothing: a
    /// body that is not UTF-8 is decoded as far as possible to look for secrets, and is recorded as base64 only if that
    /// text has none.
    func content(_ body: Data, type: String) -> (text: String, encoding: String?)? {
        if body.isEmpty { return nil }
        if let text = String(data: body, encoding: .utf8) { return (self.body(text, type: type), nil) }
        let readable = String(decoding: body, as: UTF8.self)
        let redacted = self.body(readable, type: type)
        return redacted == readable ? (body.base64EncodedString(), "base64") : (redacted, nil)
    }

    /// Returns the fields without the secret ones.
    func fields(_ headers: [HTTPHeader]) -> [HARArchive.Pair] {
        headers.compactMap { header in
            if showsCredentials { return HARArchive.Pair(name: header.name, value: header.value) }
            let value = Redaction.value(of: header, andOf: sensitiveHeaders)
            return value == Redaction.replacement ? nil : HARArchive.Pair(name: header.name, value: value)
        }
    }
}

extension HARArchive.Timings {
    init(_ metrics: TransferMetrics?) {
        func span(_ start: Date?, _ end: Date?) -> Double {
            guard let start, let end, end >= start else { return -1 }
            return end.timeIntervalSince(start) * 1000
        }
        // A reused connection is not made again: -1 says that a phase does not apply.
        let made = metrics?.isConnectionReused == false ? metrics : nil
        dns = span(made?.queued, made?.nameLookupEnded)
        connect = span(made?.nameLookupEnded, made?.tlsEstablished ?? made?.connected)
        ssl = span(made?.connected, made?.tlsEstablished)
        let ready = made?.tlsEstablished ?? made?.connected ?? metrics?.queued
        send = max(0, span(ready, metrics?.requestSent))
        wait = max(0, span(metrics?.requestSent ?? ready, metrics?.firstByte))
        receive = max(0, span(metrics?.firstByte, metrics?.ended))
    }
}
