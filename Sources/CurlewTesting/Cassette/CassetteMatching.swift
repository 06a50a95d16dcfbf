internal import CurlewCore
internal import Foundation

extension ReplayTransport {
    /// The criteria by which a request matches a recorded one.
    ///
    ///     ReplayTransport(cassette, matching: .methodAndURL)
    ///     ReplayTransport(cassette, matching: .methodAndURL.adding(.header("Accept"), .body).ignoring("timestamp"))
    ///
    /// Secrets are removed from both before they are compared.
    public struct Matching: Sendable, Hashable {
        /// One part of a request.
        public enum Part: Sendable, Hashable {
            /// The HTTP method.
            case method
            /// Scheme, host and port.
            case origin
            /// The path, percent-encoded as in the URL.
            case path
            /// The query's items, in order.
            case query
            /// The values of a header field, in order. Names are compared without regard to case.
            case header(String)
            /// The body: JSON and forms by their members, other bodies by their bytes.
            case body
        }

        /// The parts that are compared.
        public var parts: Set<Part>
        /// Names of query items, form fields and members of JSON objects, at any depth, that are not compared.
        public var ignoredNames: Set<String> = []

        /// Creates criteria that compare these parts.
        public init(_ parts: Set<Part>) { self.parts = parts }

        /// Compares method and URL.
        public static let methodAndURL = Self([.method, .origin, .path, .query])
        /// Compares method, path and query: for servers whose port varies.
        public static let methodAndTarget = Self([.method, .path, .query])
        /// Compares method, URL and body.
        public static let methodURLAndBody = methodAndURL.adding(.body)

        /// Returns a copy that compares these parts too.
        public func adding(_ more: Part...) -> Self {
            var changed = self
            changed.parts.formUnion(more)
            return changed
        }

        /// Returns a copy that ignores these query items, form fields and members of JSON objects.
        public func ignoring(_ names: String...) -> Self {
            var changed = self
            changed.ignoredNames.formUnion(names)
            return changed
        }
    }
}

extension ReplayTransport.Matching {
    /// Returns the parts that differ, the most significant first.
    func differences(_ one: Cassette.Request, _ other: Cassette.Request) -> [Part] {
        let (first, second) = (Comparable(one, ignoring: ignoredNames), Comparable(other, ignoring: ignoredNames))
        return parts.filter { !first.equals(second, in: $0) }.sorted { $0.order < $1.order }
    }

    /// A request, split into its parts.
    private struct Comparable {
        var request: Cassette.Request
        var origin: String
        var path: String
        var query: [String]
        var body: [String]

        init(_ request: Cassette.Request, ignoring names: Set<String>) {
            self.request = request
            // The fragment is not sent.
            let url = request.url.prefix { $0 != "#" }
            let start = url.range(of: "://")?.upperBound ?? url.startIndex
            let end = url[start...].firstIndex { $0 == "/" || $0 == "?" } ?? url.endIndex
            origin = url[..<end].lowercased()
            let target = url[end...]
            let question = target.firstIndex(of: "?") ?? target.endIndex
            path = question == target.startIndex ? "/" : String(target[..<question])
            query = Self.items(String(target[question...].dropFirst()), ignoring: names)
            body = Self.members(of: request, ignoring: names)
        }

        func equals(_ other: Self, in part: Part) -> Bool {
            switch part {
            case .method: request.method == other.request.method
            case .origin: origin == other.origin
            case .path: path == other.path
            case .query: query == other.query
            case .header(let name): request.values(of: name) == other.request.values(of: name)
            case .body: body == other.body
            }
        }

        private static func items(_ text: String, ignoring names: Set<String>) -> [String] {
            text.split(separator: "&").map(String.init).filter { item in
                let name = item.prefix { $0 != "=" }
                return !names.contains(name.removingPercentEncoding ?? String(name))
            }
        }

        /// Returns a form's items or a single text: JSON canonicalized (no white space, sorted members), other bodies
        /// in base64.
        private static func members(of request: Cassette.Request, ignoring names: Set<String>) -> [String] {
            guard let body = request.body else { return [] }
            let type = request.values(of: "Content-Type").first?.lowercased() ?? ""
            if type.contains("x-www-form-urlencoded"), case .text(let text) = body {
                return items(text, ignoring: names)
            }
            guard type.contains("json"), let json = canonical(body.data, ignoring: names) else {
                return [body.data.base64EncodedString()]
            }
            return [json]
        }

        private static func canonical(_ data: Data, ignoring names: Set<String>) -> String? {
            guard let value = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed),
                let text = try? JSONSerialization.data(
                    withJSONObject: without(names, value), options: [.sortedKeys, .fragmentsAllowed])
            else { return nil }
            return String(decoding: text, as: UTF8.self)
        }

        private static func without(_ names: Set<String>, _ value: Any) -> Any {
            if let object = value as? [String: Any] {
                return object.filter { !names.contains($0.key) }.mapValues { without(names, $0) }
            }
            return (value as? [Any])?.map { without(names, $0) } ?? value
        }
    }
}

extension ReplayTransport.Matching.Part {
    fileprivate var order: Int {
        switch self {
        case .method: 0
        case .origin: 1
        case .path: 2
        case .query: 3
        case .header: 4
        case .body: 5
        }
    }

    /// The name in error messages.
    var name: String {
        switch self {
        case .method: "method"
        case .origin: "origin"
        case .path: "path"
        case .query: "query"
        case .header(let name): name
        case .body: "body"
        }
    }
}

extension Cassette.Request {
    fileprivate func values(of name: String) -> [String] {
        headers.filter { ASCII.equalsIgnoringCase($0.name, name) }.map(\.value)
    }
}
