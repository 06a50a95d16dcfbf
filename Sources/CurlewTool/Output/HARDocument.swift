/// One exchange as HTTP Archive 1.2, which browsers' developer tools can show.
struct HARDocument: Sendable {
    var creatorVersion: String
    /// ISO 8601.
    var startedAt: String
    var method: String
    var url: String
    var requestHeaders: [HeaderField]
    /// What was sent, if it is text.
    var requestBody: String?
    var requestContentType: String?
    var requestBodySize: Int64
    var version: String
    var status: Int
    var reason: String
    var responseHeaders: [HeaderField]
    /// What came, if it is text.
    var responseBody: String?
    /// What came, in base64, if it is not.
    var responseBase64: String?
    var responseSize: Int64
    var timing: TimingPhases
    var remoteAddress: String?

    private static let secretNames: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie",
    ]

    var json: JSONValue {
        let contentType = responseHeaders.first { $0.name.lowercased() == "content-type" }?.value ?? ""
        var content: JSONObject = ["size": number(responseSize), "mimeType": .string(contentType)]
        if let responseBody {
            content["text"] = .string(responseBody)
        } else if let responseBase64 {
            content["text"] = .string(responseBase64)
            content["encoding"] = .string("base64")
        }
        let location = responseHeaders.first { $0.name.lowercased() == "location" }?.value ?? ""
        let response: JSONObject = [
            "status": number(Int64(status)), "statusText": .string(reason), "httpVersion": .string(version),
            "cookies": .array([]), "headers": headers(responseHeaders), "content": .object(content),
            "redirectURL": .string(location), "headersSize": number(-1), "bodySize": number(responseSize),
        ]
        var entry: JSONObject = [
            "startedDateTime": .string(startedAt), "time": milliseconds(timing.total), "request": .object(request),
            "response": .object(response), "cache": .object([:]), "timings": timings,
        ]
        if let remoteAddress { entry["serverIPAddress"] = .string(Self.host(of: remoteAddress)) }
        let log: JSONObject = [
            "version": .string("1.2"),
            "creator": .object(["name": .string("curlew"), "version": .string(creatorVersion)]),
            "pages": .array([]),
            "entries": .array([.object(entry)]),
        ]
        return .object(["log": .object(log)])
    }

    private var request: JSONObject {
        var object: JSONObject = [
            "method": .string(method), "url": .string(url), "httpVersion": .string(version), "cookies": .array([]),
            "headers": headers(requestHeaders), "queryString": query, "headersSize": number(-1),
            "bodySize": number(requestBodySize),
        ]
        if let requestBody {
            object["postData"] = .object([
                "mimeType": .string(requestContentType ?? ""), "text": .string(requestBody),
            ])
        }
        return object
    }

    private var query: JSONValue {
        guard let mark = url.firstIndex(of: "?") else { return .array([]) }
        let text = url[url.index(after: mark)...].prefix { $0 != "#" }
        return .array(
            text.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return .object([
                    "name": .string(String(parts[0])), "value": .string(parts.count == 2 ? String(parts[1]) : ""),
                ])
            }
        )
    }

    private var timings: JSONValue {
        func duration(_ name: String) -> Double? { timing.phases.first { $0.name == name }?.duration }
        // -1 means "did not happen"; TLS is a part of connecting, as the format has it.
        let tls = duration("tls")
        let connect = duration("connect").map { $0 + (tls ?? 0) }
        return .object([
            "blocked": number(-1), "dns": milliseconds(duration("lookup")), "connect": milliseconds(connect),
            "ssl": milliseconds(tls), "send": milliseconds(duration("send") ?? 0),
            "wait": milliseconds(duration("wait") ?? 0), "receive": milliseconds(duration("receive") ?? 0),
        ])
    }

    private func headers(_ fields: [HeaderField]) -> JSONValue {
        .array(
            fields.map { field in
                let isSecret = Self.secretNames.contains(field.name.lowercased())
                return .object([
                    "name": .string(field.name), "value": .string(isSecret ? "(left out)" : field.value),
                ])
            }
        )
    }

    private func number(_ value: Int64) -> JSONValue { .number(String(value)) }

    private func milliseconds(_ seconds: Double?) -> JSONValue {
        .number(seconds.map { Amount.fixed($0 * 1000, digits: 3) } ?? "-1")
    }

    /// `127.0.0.1:80` and `[::1]:80` without the port.
    static func host(of address: String) -> String { URLParts("http://\(address)").host }
}
