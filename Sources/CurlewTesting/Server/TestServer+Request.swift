public import CurlewCore
public import Foundation

extension TestServer {
    /// One received request.
    ///
    /// Routes receive it once the body is complete; tests find it in `TestServer.requests`.
    public struct Request: Sendable {
        /// The method as sent, such as `GET`.
        public var method: String
        /// The request target as sent: `/path?query`, or an absolute URL if the client uses the server as a proxy.
        public var target: String
        /// `HTTP/1.1`, `HTTP/1.0` or `HTTP/2`.
        public var version: HTTPVersion
        /// The fields in the order and case in which they were sent. With HTTP/2, names are in lower case, `host` holds
        /// the authority, and the parts of a cookie are joined into one field.
        public var headers: HTTPHeaders
        /// The body without chunked framing; at most the first `Configuration.bodyLimit` bytes.
        public var body = Data()
        /// The number of body bytes that arrived, whether or not `body` holds them all.
        public var bodyByteCount: Int64 = 0
        /// The SHA-256 of all body bytes that arrived, in hex.
        public var bodySHA256 = ""
        /// Whether the whole body arrived. False if a script responded early or the peer left.
        public var isBodyComplete = false
        /// The fields after the body.
        public var trailers: HTTPHeaders = [:]
        /// Head and body as received, with chunk framing; at most the first `Configuration.rawLimit` bytes. Empty with
        /// HTTP/2.
        public var rawBytes = Data()
        /// The number of the connection, from 1.
        public var connection: Int
        /// The number of the request on its connection, from 1.
        public var indexOnConnection: Int
        /// The peer's port.
        public var peerPort: Int
        /// The server's port.
        public var serverPort: Int
        /// Whether the request arrived over TLS.
        public internal(set) var isSecure = false
        /// The values of the placeholders in the route's pattern: `/status/{code}` gives `code`.
        public var parameters: [String: String] = [:]

        /// The target's path, percent-decoded.
        public var path: String {
            let raw = rawPath
            return raw.removingPercentEncoding ?? raw
        }

        /// The target's path as sent.
        public var rawPath: String {
            var path = Substring(target)
            if isAbsolute, let scheme = path.range(of: "://") {
                path = path[scheme.upperBound...]
                path = path.firstIndex(of: "/").map { path[$0...] } ?? "/"
            }
            if let question = path.firstIndex(of: "?") { path = path[..<question] }
            return String(path)
        }

        /// Whether the target is a URL. A path is not, even if its query contains one.
        private var isAbsolute: Bool { !target.hasPrefix("/") && target.contains("://") }

        /// The target's query as sent, without the question mark; `nil` if there is none.
        public var rawQuery: String? {
            target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
        }

        /// The query's pairs, decoded as form fields (`+` is a space), in order.
        public var query: [FormField] { rawQuery.map(FormField.parse) ?? [] }

        /// Returns the first query value with that name; `nil` if there is none.
        public func queryValue(_ name: String) -> String? { query.first { $0.name == name }?.value }

        /// The body as text; `nil` if it is not UTF-8.
        public var bodyText: String? { String(data: body, encoding: .utf8) }

        /// The URL of the request, built from the target and the `Host` field.
        public var url: String {
            if isAbsolute { return target }
            return "\(isSecure ? "https" : "http")://\(headers["Host"] ?? "127.0.0.1:\(serverPort)")\(target)"
        }
    }

    /// A name and a value from a query or a form.
    public struct FormField: Sendable, Hashable {
        /// The name, decoded.
        public var name: String
        /// The value, decoded.
        public var value: String

        /// Creates a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Parses `a=1&b=x+y`.
        static func parse(_ text: String) -> [FormField] {
            text.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return FormField(name: decoded(parts[0]), value: parts.count > 1 ? decoded(parts[1]) : "")
            }
        }

        private static func decoded(_ text: Substring) -> String {
            let spaced = text.replacing("+", with: " ")
            return spaced.removingPercentEncoding ?? String(spaced)
        }
    }
}

extension TestServer {
    /// One part of a `multipart/form-data` body.
    public struct Part: Sendable {
        /// The part's fields, as sent.
        public var headers: HTTPHeaders
        /// The form field's name; empty if the part has none.
        public var name: String
        /// The file's name; `nil` if the part has none.
        public var filename: String?
        /// The part's bytes.
        public var body: Data
        /// The part's `Content-Type`.
        public var contentType: String? { headers["Content-Type"] }
    }
}

extension TestServer.Request {
    /// The parts of a multipart body; empty if the body is not multipart. Parts without a closing delimiter are left
    /// out.
    public var multipartParts: [TestServer.Part] {
        guard let type = headers["Content-Type"], type.lowercased().hasPrefix("multipart/"),
            let boundary = Self.parameter("boundary", of: type)
        else { return [] }
        let line = Data("\r\n".utf8)
        let delimiter = Data("\r\n--\(boundary)".utf8)
        // A delimiter includes the preceding line end. The first one may be at the start of the body, so a line end is
        // prepended.
        let bytes = line + body
        var parts: [TestServer.Part] = []
        guard var cursor = bytes.range(of: delimiter)?.upperBound else { return [] }
        while let next = bytes.range(of: delimiter, in: cursor..<bytes.endIndex) {
            if let part = Self.part(bytes[cursor..<next.lowerBound], line) { parts.append(part) }
            cursor = next.upperBound
        }
        return parts
    }

    /// Parses the bytes between two delimiters: the rest of the delimiter's line, fields, an empty line, the body.
    private static func part(_ bytes: Data, _ line: Data) -> TestServer.Part? {
        guard let start = bytes.range(of: line)?.upperBound else { return nil }
        let rest = bytes[start...]
        let head: Data
        let body: Data
        if rest.starts(with: line) {
            head = Data()
            body = Data(rest.dropFirst(2))
        } else {
            guard let end = rest.range(of: line + line) else { return nil }
            head = Data(rest[..<end.lowerBound])
            body = Data(rest[end.upperBound...])
        }
        // Splits by bytes: as text, a combining mark would merge with the line end or the colon before it.
        let fields = head.split(separator: 0x0A).compactMap { line in
            line.firstIndex(of: 0x3A).map { colon in
                HTTPHeader(
                    name: String(decoding: line[..<colon], as: UTF8.self),
                    value: String(decoding: line[(colon + 1)...], as: UTF8.self)
                        .trimmingCharacters(in: .whitespacesAndNewlines)
                )
            }
        }
        let headers = HTTPHeaders(received: fields)
        let disposition = headers["Content-Disposition"] ?? ""
        return TestServer.Part(
            headers: headers,
            name: parameter("name", of: disposition) ?? "",
            filename: parameter("filename", of: disposition),
            body: body
        )
    }

    /// Returns a parameter's value, without the escapes that browsers write (`%22`, `%0D%0A`, `\"`); `nil` if it is
    /// missing.
    static func parameter(_ name: String, of field: String) -> String? {
        var rest = Substring(field)
        while let semicolon = rest.firstIndex(of: ";") {
            rest = rest[rest.index(after: semicolon)...].drop { $0 == " " || $0 == "\t" }
            guard let equals = rest.firstIndex(where: { $0 == "=" || $0 == ";" }), rest[equals] == "=" else { continue }
            let found = rest[..<equals].lowercased() == name
            rest = rest[rest.index(after: equals)...]
            let value = takeValue(&rest)
            if found { return value }
        }
        return nil
    }

    private static func takeValue(_ rest: inout Substring) -> String {
        guard rest.first == "\"" else {
            let value = rest.prefix { $0 != ";" }
            rest = rest[value.endIndex...]
            return value.trimmingCharacters(in: .whitespaces)
        }
        rest.removeFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
                value.append(next)
                rest.removeFirst()
            } else {
                value.append(character)
            }
        }
        return value.replacing("%22", with: "\"").replacing("%0D%0A", with: "\r\n")
    }
}

extension TestServer.Request {
    /// The received cookies, in order.
    public var cookies: [TestServer.FormField] {
        headers.values(for: "Cookie").flatMap { $0.split(separator: ";") }.map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return TestServer.FormField(
                name: parts[0].trimmingCharacters(in: .whitespaces),
                value: parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
            )
        }
    }
}
