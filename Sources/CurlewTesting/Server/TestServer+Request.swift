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
