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
public final class ReplayTransport: Transport {
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
