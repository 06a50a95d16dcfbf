public import CurlewCore
public import Foundation

/// A transport that answers from a cassette instead of the network.
///
///     let session = Session(transport: try ReplayTransport(file: URL(filePath: "Fixtures/birds.json")))
///     let birds = try await session.request("https://api.example.org/birds").decode([Bird].self)
///
/// A request gets the first unused exchange that matches it according to `Matching`, by default method and URL. Secrets
/// are removed from the request before it is compared. If no exchange matches, the request fails with `.unsupported`;
/// the error names the request and the nearest recorded ones, with their differences.
public final class ReplayTransport: PoolingTransport {
    private struct State: Sendable {
        var left: [Candidate]
        /// The requests of used exchanges.
        var used: [Cassette.Request] = []
    }

    struct Candidate: Sendable {
        let exchange: Cassette.Exchange
        /// The form in which requests are compared. The cassette may be hand-written or recorded with a weaker
        /// redaction, so secrets are removed again. Bodies in other formats stay.
        let request: Cassette.Request

        init(_ exchange: Cassette.Exchange, _ redaction: CassetteRedaction) {
            var redaction = redaction
            redaction.keepsOtherRequestBodies = true
            self.exchange = exchange
            request = redaction.clean(exchange).request
        }
    }

    /// A request for which an exchange is sought.
    struct Question: Sendable {
        /// The request as it would be recorded.
        let request: Cassette.Request
        /// The request with a body that would not be recorded, for comparison with a recorded body.
        private let whole: Cassette.Request

        init(_ request: Cassette.Request, _ redaction: CassetteRedaction) {
            var exchange = redaction.clean(Cassette.Exchange(request: request))
            let body = exchange.request.body
            redaction.change(&exchange)
            self.request = exchange.request
            var whole = exchange.request
            if !redaction.keepsOtherRequestBodies, body == whole.body {
                var keeping = redaction
                keeping.keepsOtherRequestBodies = true
                whole.body = keeping.clean(Cassette.Exchange(request: request)).request.body
            }
            self.whole = whole
        }

        func differences(from recorded: Cassette.Request, _ matching: Matching) -> [Matching.Part] {
            let found = matching.differences(recorded, request)
            return found.contains(.body) ? matching.differences(recorded, whole) : found
        }
    }

    private let mock: MockTransport
    private let state: Watched<State>

    /// Creates a transport that answers from a cassette. With `isEndless`, every exchange can be used repeatedly.
    public init(
        _ cassette: Cassette,
        matching: Matching = .methodAndURL,
        redaction: CassetteRedaction = .init(),
        isEndless: Bool = false
    ) {
        let state = Watched(State(left: cassette.exchanges.map { Candidate($0, redaction) }))
        self.state = state
        mock = MockTransport { request in
            let asked = Question(
                Cassette.Request(
                    method: request.method.rawValue,
                    url: request.url.absoluteString,
                    headers: request.headers.fields,
                    body: Cassette.Body(request.body)
                ),
                redaction
            )
            let found = state.change { state -> Cassette.Exchange? in
                let index = state.left.firstIndex { asked.differences(from: $0.request, matching).isEmpty }
                guard let index else { return nil }
                guard !isEndless else { return state.left[index].exchange }
                let candidate = state.left.remove(at: index)
                state.used.append(candidate.request)
                return candidate.exchange
            }
            guard let found else {
                let state = state.value
                throw CassetteMiss(
                    asked: asked, left: state.left.map(\.request), used: state.used, matching: matching
                ).error
            }
            return Self.response(found)
        }
    }

    /// Creates a transport that answers from a cassette file; throws if the file cannot be read or decoded.
    public convenience init(
        file: URL,
        matching: Matching = .methodAndURL,
        redaction: CassetteRedaction = .init(),
        isEndless: Bool = false
    ) throws {
        self.init(try Cassette(file: file), matching: matching, redaction: redaction, isEndless: isEndless)
    }

    /// The exchanges that have not been used. With `isEndless`, all of them.
    public var unusedExchanges: [Cassette.Exchange] { state.value.left.map(\.exchange) }

    /// Answers a request from the cassette.
    public func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        try await mock.perform(request, sink: sink)
    }

    public func shutdown() async { await mock.shutdown() }

    /// Returns all guards, because no byte leaves the process.
    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { .all }

    /// No connections: a cassette has none.
    public var connections: ConnectionSnapshot { ConnectionSnapshot() }

    /// Does nothing, or throws `.sessionClosed` after `shutdown`.
    public func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError) {
        try await mock.prewarm(request, connections: count)
    }

    private static func response(_ exchange: Cassette.Exchange) -> MockResponse {
        let error = exchange.error.map {
            CurlewError(
                CurlewError.Code(rawValue: $0.code),
                phase: CurlewError.Phase(rawValue: $0.phase) ?? .receive,
                reason: $0.reason
            )
        }
        guard let recorded = exchange.response else {
            let missing = CurlewError(
                .unsupported, phase: .waiting, reason: "the exchange has neither response nor error")
            return .failing(error ?? missing)
        }
        var response = MockResponse(
            status: recorded.status,
            reason: recorded.reason,
            headers: HTTPHeaders(recorded.headers),
            body: recorded.body.map { [.bytes($0.data)] } ?? []
        )
        response.version = HTTPVersion(rawValue: recorded.version) ?? .http1_1
        response.trailers = HTTPHeaders(recorded.trailers ?? [])
        response.error = error
        return response
    }
}

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

/// The failure to find an exchange for a request in a cassette.
private struct CassetteMiss {
    let asked: ReplayTransport.Question
    let left: [Cassette.Request]
    let used: [Cassette.Request]
    let matching: ReplayTransport.Matching

    /// The error, which names the request and the nearest recorded ones.
    var error: CurlewError {
        let reason = "the cassette has no exchange left for \(asked.request.method) \(asked.request.url)\(clause)"
        return CurlewError(.unsupported, phase: .waiting, reason: reason)
    }

    private var clause: String {
        let candidates = left.map { (request: $0, isUsed: false) } + used.map { (request: $0, isUsed: true) }
        guard !candidates.isEmpty else { return "; it is empty" }
        // One differing part weighs more than any difference in characters.
        let nearest = Nearness.nearest(of: candidates) { candidate in
            let differences = asked.differences(from: candidate.request, matching).count
            return differences * 1_000 + Nearness.distance(candidate.request.url, asked.request.url)
        }
        let texts = nearest.map { candidate in
            "\(candidate.request.method) \(candidate.request.url) (\(verdict(candidate.request, candidate.isUsed)))"
        }
        return "; nearest: " + texts.joined(separator: ", ")
    }

    private func verdict(_ request: Cassette.Request, _ isUsed: Bool) -> String {
        let differences = asked.differences(from: request, matching).map(\.name)
        guard let last = differences.last else { return "used already" }
        let parts = differences.dropLast().joined(separator: ", ")
        return parts.isEmpty ? "\(last) differs" : "\(parts) and \(last) differ"
    }
}
