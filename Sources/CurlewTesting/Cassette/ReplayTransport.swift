public import CurlewCore
public import Foundation

/// Answers from a cassette instead of the network.
///
///     let session = Session(transport: try ReplayTransport(file: URL(filePath: "Fixtures/birds.json")))
///     let birds = try await session.request("https://api.example.org/birds").decode([Bird].self)
///
/// A request gets the first exchange, not yet used, that has its method and URL (and its body, if asked for);
/// secrets are taken out of it before it is compared. When none is left the exchange fails with
/// `.unsupported` and says which request it was, so that a test notices what it did not record.
public final class ReplayTransport: Transport {
    /// What must be equal for a request to get an exchange.
    public enum Matching: Sendable, Hashable {
        /// By method and URL.
        case methodAndURL
        /// Method, path and query: for servers whose port changes.
        case methodAndTarget
        /// By method, URL and body.
        case methodURLAndBody
    }

    private struct State: Sendable {
        var left: [Cassette.Exchange]
    }

    private let mock: MockTransport
    private let state: Watched<State>

    /// Answers from a cassette. `isEndless` lets every exchange be used again and again.
    public init(
        _ cassette: Cassette,
        matching: Matching = .methodAndURL,
        redaction: CassetteRedaction = .init(),
        isEndless: Bool = false
    ) {
        let state = Watched(State(left: cassette.exchanges))
        self.state = state
        mock = MockTransport { request in
            let asked = redaction.redacted(
                Cassette.Exchange(
                    request: Cassette.Request(
                        method: request.method.rawValue,
                        url: request.url.absoluteString,
                        headers: request.headers.fields,
                        body: Cassette.Body(request.body)
                    )
                )
            ).request
            let found = state.change { state -> Cassette.Exchange? in
                guard let index = state.left.firstIndex(where: { Self.fits($0.request, asked, matching) }) else {
                    return nil
                }
                return isEndless ? state.left[index] : state.left.remove(at: index)
            }
            guard let found else {
                throw CurlewError(
                    .unsupported,
                    phase: .waiting,
                    reason: "the cassette has no exchange left for \(asked.method) \(request.path)"
                )
            }
            return Self.response(found)
        }
    }

    /// Answers from a cassette in a file; throws what reading and decoding throw.
    public convenience init(
        file: URL,
        matching: Matching = .methodAndURL,
        redaction: CassetteRedaction = .init(),
        isEndless: Bool = false
    ) throws {
        self.init(try Cassette(file: file), matching: matching, redaction: redaction, isEndless: isEndless)
    }

    /// Exchanges that no request has got yet.
    public var unusedExchanges: [Cassette.Exchange] { state.value.left }

    /// Answers from the cassette.
    public func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        try await mock.perform(request, sink: sink)
    }

    public func shutdown() async { await mock.shutdown() }

    /// All of them: nothing leaves the process.
    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { .all }

    private static func fits(_ one: Cassette.Request, _ other: Cassette.Request, _ matching: Matching) -> Bool {
        guard one.method == other.method else { return false }
        switch matching {
        case .methodAndURL: return one.url == other.url
        case .methodAndTarget: return target(one.url) == target(other.url)
        case .methodURLAndBody: return one.url == other.url && one.body == other.body
        }
    }

    private static func target(_ url: String) -> Substring {
        guard let start = url.range(of: "//")?.upperBound else { return url[...] }
        return url[start...].firstIndex { $0 == "/" || $0 == "?" }.map { url[$0...] } ?? ""
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
