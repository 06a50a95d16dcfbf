internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

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
        let blocked: Double
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
        let comments = [exchange.failure, metrics?.hedge.map(Self.comment)].compactMap(\.self)
        comment = comments.isEmpty ? nil : comments.joined(separator: "; ")
        let version = metrics?.httpVersion?.rawValue ?? "HTTP/1.1"
        let redaction = HARRedaction(showsCredentials: showsCredentials, sensitiveHeaders: exchange.sensitiveHeaders)
        request = HARArchive.Sent(exchange, httpVersion: version, redaction)
        response = HARArchive.Received(exchange, httpVersion: version, redaction)
    }

    private static func comment(_ hedge: Hedge) -> String {
        "hedged: a second copy was sent after \(Int(hedge.delay / .milliseconds(1))) ms"
            + (hedge.hasWon ? ", and its response was used" : "")
    }

    /// The host in `address:port`, without the brackets of IPv6.
    private static func host(_ address: String) -> String {
        let host = address.lastIndex(of: ":").map { String(address[..<$0]) } ?? address
        return host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    }
}

extension HARArchive.Sent {
    fileprivate init(_ exchange: HARExchange, httpVersion: String, _ redaction: HARRedaction) {
        let sent = exchange.sent
        let type = sent.value(forHTTPHeaderField: "Content-Type") ?? ""
        method = sent.httpMethod ?? "GET"
        url = redaction.url(sent.url?.absoluteString ?? "")
        self.httpVersion = httpVersion
        headers = redaction.fields(Array(sent.headers).sorted { $0.name < $1.name })
        queryString = (URLComponents(string: url)?.queryItems ?? []).map {
            HARArchive.Pair(name: $0.name, value: $0.value ?? "")
        }
        postData = sent.httpBody.map {
            HARArchive.Posted(mimeType: type, text: redaction.body(String(decoding: $0, as: UTF8.self), type: type))
        }
        bodySize = exchange.sentBodySize
    }
}

extension HARArchive.Received {
    fileprivate init(_ exchange: HARExchange, httpVersion: String, _ redaction: HARRedaction) {
        let head = exchange.response
        let shown = redaction.content(exchange.body, type: head?.mimeType ?? "")
        status = head?.status ?? 0
        statusText = head?.statusText ?? ""
        self.httpVersion = httpVersion
        headers = redaction.fields(head?.headers ?? [])
        content = HARArchive.Content(
            size: exchange.bodySize,
            mimeType: head.map { $0.mimeType.isEmpty ? "application/octet-stream" : $0.mimeType } ?? "x-unknown",
            text: shown?.text,
            encoding: shown?.encoding
        )
        redirectURL = redaction.url(exchange.redirectURL)
        bodySize = exchange.metrics.map { Int($0.bytesReceived) } ?? -1
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
        // The dates after `queued` are those of the second copy if its response was used.
        let hedge = metrics?.hedge.flatMap { $0.hasWon ? $0.delay / .seconds(1) : nil }
        let began = metrics?.queued.addingTimeInterval(hedge ?? 0)
        blocked = hedge.map { $0 * 1000 } ?? -1
        dns = span(made == nil ? nil : began, made?.nameLookupEnded)
        connect = span(made?.nameLookupEnded, made?.tlsEstablished ?? made?.connected)
        ssl = span(made?.connected, made?.tlsEstablished)
        let ready = made?.tlsEstablished ?? made?.connected ?? began
        send = max(0, span(ready, metrics?.requestSent))
        wait = max(0, span(metrics?.requestSent ?? ready, metrics?.firstByte))
        receive = max(0, span(metrics?.firstByte, metrics?.ended))
    }
}
