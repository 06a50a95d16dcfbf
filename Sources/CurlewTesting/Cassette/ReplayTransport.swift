public import CurlewCore
public import Foundation

/// Answers from a cassette instead of the network.
///
///     let session = Session(transport: try ReplayTransport(file: URL(filePath: "Fixtures/birds.json")))
///     let birds = try await session.request("https://api.example.org/birds").decode([Bird].self)
///
/// A request gets the first exchange, not yet used, that equals it in what `Matching` compares: method and URL, unless
/// the test says otherwise. Secrets are taken out of it before it is compared. When none is left the exchange fails with
/// `.unsupported`; the error names the request and the recorded requests that come nearest, and says in what they differ.
public final class ReplayTransport: Transport {
    private struct State: Sendable {
        var left: [Cassette.Exchange]
        /// Requests whose exchanges are used up.
        var used: [Cassette.Request] = []
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
                let index = state.left.firstIndex { matching.differences($0.request, asked).isEmpty }
                guard let index else { return nil }
                guard !isEndless else { return state.left[index] }
                let exchange = state.left.remove(at: index)
                state.used.append(exchange.request)
                return exchange
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
