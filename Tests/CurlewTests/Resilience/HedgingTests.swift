import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Hedging over a mock, whose requests are numbered in the order in which they start: 0 is the first copy.
@Suite("Hedging", .timeLimit(.minutes(4)))
struct HedgingTests {
    private static let url = "https://api.example.org/x"
    private static let origin = "https://api.example.org"

    /// Sends the second copy of every request as soon as the first one has started.
    private static var atOnce: Hedging {
        var hedging = Hedging.after(.zero)
        hedging.maximumShare = 1
        return hedging
    }

    private func session(
        _ transport: any Transport, _ hedging: Hedging = Self.atOnce,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.resilience.hedging = hedging
        change(&configuration)
        return Session(configuration: configuration, transport: transport)
    }

    private func counts(_ session: Session) async -> ResilienceSnapshot.Counts {
        await session.resilience.snapshot().counts
    }

    private struct Unexpected: Error {}

    @Test("a session without hedging has no hedging transport")
    func off() {
        let transport = MockTransport { _ in .text("fine") }
        #expect(Session(transport: transport).transport is MockTransport)
        #expect(session(transport).transport is HedgingTransport && session(transport).network is MockTransport)
        let cached = session(transport) { $0.cache = ResponseCache() }
        #expect(cached.transport is CachingTransport && cached.network is MockTransport)
    }

    @Test("a request without hedging is sent once")
    func leftOut() async throws {
        let transport = MockTransport { request in .text("copy \(request.index)") }
        let request = session(transport).request(Self.url).resilience(without: .hedging)
        #expect(try await request.string() == "copy 0")
        #expect(transport.requests.count == 1 && request.metrics?.hedge == nil)
    }

    // MARK: The winner

    @Test("the second copy of a slow request wins, and the first one is cancelled")
    func secondWins() async throws {
        let never = Gate()
        let transport = MockTransport { request in
            if request.index == 0 { try await never.wait() }
            return .text("copy \(request.index)")
        }
        let session = session(transport) { $0.resilience.concurrency = .fixed(2) }
        let request = session.request(Self.url)
        #expect(try await request.string() == "copy 1")
        #expect(transport.runningCount == 0 && transport.requests.count == 2)
        let metrics = try #require(request.metrics)
        let hedge = try #require(metrics.hedge)
        #expect(hedge.hasWon && hedge.delay > .zero && metrics.phases.first?.name == "hedge")
        #expect(metrics.description.contains("hedged after") && metrics.duration > hedge.delay / .seconds(1) * 0.99)
        let snapshot = await session.resilience.snapshot()
        #expect(snapshot.counts.hedged == 1 && snapshot.counts.hedgesWon == 1 && snapshot.counts.admitted == 1)
        #expect(snapshot.concurrency[Self.origin]?.inFlight == 0)
    }

    @Test("the first copy wins if its response comes first, and the second one is cancelled")
    func firstWins() async throws {
        let (never, second) = (Gate(), Gate())
        let transport = MockTransport { request in
            if request.index == 0 {
                try await second.wait()
            } else {
                second.open()
                try await never.wait()
            }
            return .text("copy \(request.index)")
        }
        let session = session(transport)
        let request = session.request(Self.url)
        #expect(try await request.string() == "copy 0")
        #expect(transport.runningCount == 0)
        let metrics = try #require(request.metrics)
        #expect(metrics.hedge?.hasWon == false && !metrics.phases.contains { $0.name == "hedge" })
        let counts = await counts(session)
        #expect(counts.hedged == 1 && counts.hedgesWon == 0)
    }

    @Test("the metrics have the measurements of both copies, whichever wins", arguments: [1, 2])
    func bothAreMeasured(answered: Int) async throws {
        let server = try TestServer()
        let (loser, both) = (Gate(), Gate())
        let arrivals = Lock(0)
        // Which copy arrives first is not known.
        server.route("/x") { _ in
            let arrival = arrivals.withLock { arrivals in
                arrivals += 1
                return arrivals
            }
            if arrival == 2 { both.open() }
            try? await (arrival == answered ? both : loser).wait()
            return .text("fine")
        }
        var configuration = SessionConfiguration()
        configuration.resilience.hedging = Self.atOnce
        let request = Session(configuration: configuration).request(server.url("/x"))
        #expect(try await request.string() == "fine")
        loser.open()
        let metrics = try #require(request.metrics)
        let unused = try #require(metrics.hedge?.unused)
        #expect(metrics.firstByte != nil && metrics.remoteAddress != nil && metrics.bytesReceived > 0)
        #expect(unused.remoteAddress != nil && unused.bytesSent > 0 && unused.bytesReceived == 0)
        #expect(unused.firstByte == nil && unused.hedge == nil && unused.localAddress != metrics.localAddress)
    }

    @Test("the circuit of the server that a redirect leads to learns of a second copy that has won there")
    func afterRedirect() async throws {
        let second = Gate()
        let transport = MockTransport { request in
            if request.url.host() == "api.example.org" { return .redirect(to: "https://b.example/", status: 303) }
            if request.index > 1 { second.open() } else { try await second.wait() }
            return request.index == 1 ? .status(503) : .text("fine")
        }
        let session = session(transport) { $0.resilience.breaker = CircuitBreaker() }
        // A POST without a key is not hedged.
        #expect(try await session.request(Self.url, method: .post).string() == "fine")
        let circuits = await session.resilience.snapshot().circuits
        let (redirecting, target) = (circuits[Self.origin], circuits["https://b.example"])
        #expect(redirecting?.calls == 1 && redirecting?.failures == 0)
        #expect(target?.calls == 1 && target?.failures == 0)
    }

    @Test("a session that only hedges admits no attempt, and one with another part does")
    func onlyHedges() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let only = session(transport)
        let both = session(transport) { $0.resilience.retryBudget = RetryBudget() }
        for (session, isAdmitted) in [(only, false), (both, true)] {
            let request = session.request(Self.url).resilience(without: .hedging)
            #expect(try await request.string() == "fine")
            #expect((request.attempts.first?.admission != nil) == isAdmitted)
            #expect(await counts(session).admitted == (isAdmitted ? 1 : 0))
        }
    }

    @Test("a request that is answered in time is sent once")
    func inTime() async throws {
        let transport = MockTransport { _ in .text("fine").header("Cache-Control", "max-age=600") }
        let session = session(transport, .after(.seconds(3_600))) { $0.cache = ResponseCache() }
        for _ in 0..<2 {
            let request = session.request(Self.url)
            #expect(try await request.string() == "fine")
            #expect(try #require(request.metrics).hedge == nil)
        }
        #expect(transport.requests.count == 1)
        #expect(await counts(session).hedged == 0)
    }

    @Test("percentile hedging sends no second copy before it has enough samples, and then hedges slow requests")
    func percentile() async throws {
        let never = Gate()
        let transport = MockTransport { request in
            if request.index == Hedging.fewestSamples { try await never.wait() }
            return .text("copy \(request.index)")
        }
        var hedging = Hedging.percentile(1, atLeast: .zero)
        hedging.maximumShare = 1
        let session = session(transport, hedging)
        for _ in 0..<Hedging.fewestSamples { _ = try await session.request(Self.url).data() }
        #expect(await counts(session).hedged == 0)
        #expect(try await session.request(Self.url).string() == "copy \(Hedging.fewestSamples + 1)")
        #expect(await counts(session).hedgesWon == 1)
    }

    // MARK: Failures

    /// Sends a request whose first copy has a bad response that is held. `second` answers the second copy after that.
    private func holdingFirst(
        _ breaker: CircuitBreaker? = nil,
        second: @escaping @Sendable (_ held: Gate) async throws -> MockResponse
    ) async throws -> (DataResponse<Data?, CurlewError>, Session, MockTransport) {
        let (held, begun) = (Gate(), Gate())
        let transport = MockTransport { request in
            guard request.index == 0 else {
                begun.open()
                // The mock arrives at the gate when it has offered the head.
                try await held.waitForArrivals(count: 1)
                return try await second(held)
            }
            try await begun.wait()
            return MockResponse(status: 503, body: [.wait(held), .bytes(Data("busy".utf8))])
        }
        let session = session(transport) { $0.resilience.breaker = breaker }
        return (await session.request(Self.url).response(), session, transport)
    }

    @Test("an error response of the first copy is held, and a good response of the second copy wins")
    func badFirst() async throws {
        let breaker = CircuitBreaker(window: .count(9))
        let (response, session, transport) = try await holdingFirst(breaker) { _ in .text("fine") }
        #expect(response.response?.statusCode == 200 && response.data == Data("fine".utf8))
        #expect(transport.runningCount == 0)
        // Both outcomes are known, and each counts once.
        let circuit = await session.resilience.snapshot().circuits[Self.origin]
        #expect(circuit?.calls == 2 && circuit?.failures == 1)
    }

    @Test(
        "if the second copy fails too, the held error response of the first one is delivered with its body",
        arguments: [true, false])
    func bothBad(isResponse: Bool) async throws {
        let breaker = CircuitBreaker(window: .count(9))
        let (response, session, transport) = try await holdingFirst(breaker) { held in
            held.open()
            if isResponse { return .text("also busy", status: 500) }
            throw CurlewError(.connectFailed, phase: .connect)
        }
        #expect(response.response?.statusCode == 503 && response.data == Data("busy".utf8))
        #expect(transport.runningCount == 0)
        let snapshot = await session.resilience.snapshot()
        #expect(snapshot.counts.hedged == 1 && snapshot.counts.hedgesWon == 0)
        let circuit = snapshot.circuits[Self.origin]
        #expect(circuit?.calls == 2 && circuit?.failures == 2)
    }

    @Test("an error response of one copy is delivered if the other copy fails", arguments: [true, false])
    func responseBeatsFailure(firstFails: Bool) async throws {
        let begun = Gate()
        let transport = MockTransport { request in
            if request.index == 0 { try await begun.wait() } else { begun.open() }
            if (request.index == 0) == firstFails { throw CurlewError(.connectFailed, phase: .connect) }
            return .text("busy", status: 503)
        }
        let response = await session(transport).request(Self.url).response()
        #expect(response.response?.statusCode == 503 && response.data == Data("busy".utf8))
        #expect(transport.requests.count == 2)
    }

    @Test("if both copies fail, the request fails with the error of the first copy")
    func bothFail() async throws {
        let begun = Gate()
        let transport = MockTransport { request in
            if request.index == 0 { try await begun.wait() } else { begun.open() }
            throw CurlewError(request.index == 0 ? .connectFailed : .receiveFailed, phase: .connect)
        }
        let session = session(transport)
        #expect(await failure(of: session.request(Self.url))?.code == .connectFailed)
        let counts = await counts(session)
        #expect(counts.hedged == 1 && counts.hedgesWon == 0)
    }

    @Test("a request whose first copy fails before the delay is not hedged")
    func failsAtOnce() async throws {
        let transport = MockTransport { _ in throw CurlewError(.connectFailed, phase: .connect) }
        let session = session(transport, .after(.seconds(3_600)))
        #expect(await failure(of: session.request(Self.url))?.code == .connectFailed)
        #expect(transport.requests.count == 1)
    }

    // MARK: Requests that are not hedged

    @Test("a POST is hedged only with an idempotency key", arguments: [true, false])
    func post(hasKey: Bool) async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            if request.path == "/post" { try await gate.wait() }
            return .text("fine")
        }
        let session = session(transport)
        let request = session.request("\(Self.origin)/post", method: .post, parameters: ["a": "b"])
        if hasKey { request.idempotencyKey() }
        async let post = request.string()
        try await gate.waitForArrivals(count: hasKey ? 2 : 1)
        // A later request gives a second copy of the POST the time to be sent.
        _ = try await session.request(Self.url).data()
        gate.open()
        #expect(try await post == "fine")
        let posts = transport.requests.filter { $0.method == .post }
        #expect(posts.count == (hasKey ? 2 : 1) && posts.allSatisfy { $0.bodyText == "a=b" })
        #expect(Set(posts.map { $0.headers["Idempotency-Key"] }).count == 1)
    }

    @Test("an exhausted rate limit prevents the second copy, and the request succeeds")
    func limited() async throws {
        let gate = Gate()
        let asked = Lock(0)
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("fine")
        }
        let scope = ResilienceScope.key { _ in
            asked.withLock { $0 += 1 }
            return "all"
        }
        let session = session(transport) {
            $0.resilience.rateLimit = .requests(1, per: .seconds(3_600), per: scope)
        }
        let request = session.request(Self.url)
        async let text = request.string()
        // The scope's closure is called twice for the attempt and twice for its second copy: for the rate, and for the
        // quota that the server's responses state.
        let perRequest = 2
        try await eventually { asked.withLock { $0 } == 2 * perRequest }
        gate.open()
        #expect(try await text == "fine")
        #expect(transport.requests.count == 1 && request.metrics?.hedge == nil)
        let counts = await counts(session)
        #expect(counts.hedged == 0 && counts.limited == 0)
    }

    @Test("an open circuit and a full concurrency limit permit no second copy")
    func refusedByControl() throws {
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600))
        let control = try #require(ResilienceControl(Resilience(concurrency: .fixed(2), breaker: breaker)))
        let keys = AdmissionKeys(places: "a", circuit: "a")
        func permit() throws -> AdmissionState.Permit {
            guard case .decided(.admitted(let permit)) = control.ask(keys, .normal, waitingFor: nil) else {
                throw Unexpected()
            }
            return permit
        }
        let first = try permit()
        let second = try #require(control.admitHedge(keys))
        #expect(control.admitHedge(keys) == nil)
        control.release(second)
        control.finish(first, outcome: AttemptOutcome(status: 500), advice: nil)
        #expect(control.admitHedge(keys) == nil)
        let snapshot = control.snapshot()
        #expect(snapshot.counts.hedged == 1 && snapshot.counts.admitted == 1 && snapshot.counts.limited == 0)
        #expect(snapshot.concurrency["a"]?.inFlight == 0 && snapshot.waiting == 0)
    }

    @Test("second copies of many requests stay within the maximum share")
    func share() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("fine")
        }
        let session = session(transport, .after(.zero))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 { group.addTask { _ = try await session.request(Self.url).data() } }
            // No request gets a response before second copies have been sent.
            try await eventually { transport.requests.count > 200 }
            gate.open()
            try await group.waitForAll()
        }
        let hedged = await counts(session).hedged
        #expect((1...20).contains(hedged) && transport.requests.count <= 200 + hedged)
    }

    @Test("a WebSocket is not hedged")
    func webSocket() async throws {
        let transport = MockTransport()
        transport.webSocket("/socket", TestServer.WebSocketScript([.send(.text("one"))]))
        let session = session(transport)
        let socket = session.webSocket("wss://api.example.org/socket")
        _ = try await socket.opened()
        #expect(transport.requests.count == 1)
        #expect(await counts(session).hedged == 0)
        socket.cancel()
    }

    // MARK: The owner's commands

    @Test("a request that is cancelled during the race cancels both copies")
    func cancelled() async throws {
        let never = Gate()
        let transport = MockTransport { _ in
            try await never.wait()
            return .text("fine")
        }
        let session = session(transport) { $0.resilience.concurrency = .fixed(2) }
        let request = session.request(Self.url)
        async let error = failure(of: request)
        try await never.waitForArrivals(count: 2)
        request.cancel()
        #expect(await error?.code == .cancelled)
        #expect(transport.runningCount == 0)
        await session.drain()
        #expect(await session.resilience.snapshot().concurrency[Self.origin]?.inFlight == 0)
    }

    @Test("a request that is suspended during the race delivers its response after it is resumed")
    func suspended() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("fine")
        }
        let session = session(transport)
        let request = session.request(Self.url)
        async let text = request.string()
        try await gate.waitForArrivals(count: 2)
        request.suspend()
        gate.open()
        // Another request shows that the transport goes on meanwhile.
        #expect(try await session.request("\(Self.origin)/other").string() == "fine")
        #expect(request.response == nil && transport.runningCount >= 2)
        request.resume()
        #expect(try await text == "fine")
        #expect(transport.runningCount == 0)
    }

    // MARK: Kinds of requests

    @Test("downloads and streams are hedged")
    func kinds() async throws {
        let never = Gate()
        let transport = MockTransport { request in
            if request.index.isMultiple(of: 2) { try await never.wait() }
            return .chunks((0..<50).map { Data("\($0),".utf8) })
        }
        let session = session(transport)
        let whole = (0..<50).map { "\($0)," }.joined()
        let scratch = try ScratchDirectory()
        let file = try await session.download(Self.url, to: { _, _ in (scratch.file("a"), []) }).file()
        #expect(try String(contentsOf: file, encoding: .utf8) == whole)
        let streamed = try await session.streamRequest(Self.url).chunks.reduce(into: Data()) { $0 += $1 }
        #expect(String(decoding: streamed, as: UTF8.self) == whole)
        let counts = await counts(session)
        #expect(counts.hedged == 2 && counts.hedgesWon == 2 && transport.runningCount == 0)
    }

    // MARK: Any order

    @Test("races in any order end with one copy's response, and leak nothing", arguments: 0..<8 as Range<UInt64>)
    func orders(seed: UInt64) async throws {
        let transport = MockTransport { request in
            var random = SplitMix(seed: seed &* 1_000 &+ UInt64(request.index))
            for _ in 0..<Int.random(in: 0...20, using: &random) { await Task.yield() }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: throw CurlewError(.connectFailed, phase: .connect)
            case 1: return .text("busy \(request.index)", status: 503)
            case 2: return .status(500)
            default: return .chunks((0..<4).map { _ in Data("\(request.index);".utf8) })
            }
        }
        let session = session(transport) { $0.resilience.concurrency = .fixed(8) }
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix(seed: seed &* 8 &+ worker)
                    for _ in 0..<40 {
                        let request = session.request(Self.url)
                        let task = Task { await request.response() }
                        for _ in 0..<Int.random(in: 0...30, using: &random) { await Task.yield() }
                        switch Int.random(in: 0..<6, using: &random) {
                        case 0: request.cancel()
                        case 1:
                            request.suspend()
                            await Task.yield()
                            request.resume()
                        default: break
                        }
                        let response = await task.value
                        let pieces = response.text?.split(separator: ";") ?? []
                        if response.error == nil, response.response?.statusCode == 200 {
                            #expect(pieces.count == 4 && Set(pieces).count == 1)
                        }
                    }
                }
            }
        }
        await session.drain()
        let snapshot = await session.resilience.snapshot()
        #expect(transport.runningCount == 0)
        #expect(snapshot.waiting == 0 && snapshot.concurrency[Self.origin]?.inFlight == 0)
        #expect(snapshot.counts.hedged > 0 && snapshot.counts.hedgesWon <= snapshot.counts.hedged)
    }
}
