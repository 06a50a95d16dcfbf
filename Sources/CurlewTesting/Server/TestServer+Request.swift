public import CurlewCore
public import Foundation

extension TestServer {
    /// One request as it arrived.
    ///
    /// Routes get it when the body is complete; `TestServer.requests` keeps it for the test to look at.
    public struct Request: Sendable {
        /// `GET`, as sent.
        public var method: String
        /// The request target as sent: `/path?query`, or an absolute URL when the client takes the server for a proxy.
        public var target: String
        /// `HTTP/1.1`, `HTTP/1.0` or `HTTP/2`.
        public var version: HTTPVersion
        /// Every field in the order and case in which it was sent. With HTTP/2 names are in lower case, `host` is there, and
        /// the parts of a cookie are one field again.
        public var headers: HTTPHeaders
        /// The body after undoing chunked framing; at most `Configuration.bodyLimit` bytes of it.
        public var body = Data()
        /// Bytes of body that arrived, whether or not `body` holds them all.
        public var bodyByteCount: Int64 = 0
        /// SHA-256 of all that arrived of the body, in hex.
        public var bodySHA256 = ""
        /// Whether the body came to its end. Not so when a script answered early or the peer went away.
        public var isBodyComplete = false
        /// Fields behind the body.
        public var trailers: HTTPHeaders = [:]
        /// Head and body byte for byte, chunk framing and all; at most `Configuration.rawLimit` bytes of it. Empty with HTTP/2.
        public var rawBytes = Data()
        /// The number of the connection it came on: the server's first is 1.
        public var connection: Int
        /// The number of the request on its connection: the first is 1.
        public var indexOnConnection: Int
        /// The peer's port.
        public var peerPort: Int
        /// The port it was sent to.
        public var serverPort: Int
        /// Whether it came over TLS.
        public internal(set) var isSecure = false
        /// What the placeholders of the route's pattern stood for: `/status/{code}` gives `code`.
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

        /// Whether the target is a URL. A path is none, although its query may hold one.
        private var isAbsolute: Bool { !target.hasPrefix("/") && target.contains("://") }

        /// The target's query as sent, without the question mark.
        public var rawQuery: String? {
            target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
        }

        /// The query's pairs, decoded as form fields (`+` is a space), in order.
        public var query: [FormField] { rawQuery.map(FormField.parse) ?? [] }

        /// The first query value of that name.
        public func queryValue(_ name: String) -> String? { query.first { $0.name == name }?.value }

        /// The body as text, where it is UTF-8.
        public var bodyText: String? { String(data: body, encoding: .utf8) }

        /// The URL the client must have meant, from the Host field.
        public var url: String {
            if isAbsolute { return target }
            return "\(isSecure ? "https" : "http")://\(headers["Host"] ?? "127.0.0.1:\(serverPort)")\(target)"
        }
    }

    /// A name and a value out of a query or a form.
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

        /// Takes `a=1&b=x+y` apart.
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
