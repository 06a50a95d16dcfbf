import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// What counts against a server, and what does not.
@Suite("Failures and whom they count against", .timeLimit(.minutes(4)))
struct AttributionTests {
    private static let url = "https://api.example.org/x"
    private static let origin = "https://api.example.org"

    private struct RetryingOnce: RequestInterceptor {
        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
            request.retryCount == 0 ? .retry : .doNotRetry
        }
    }

    @Test("a failure counts although a stored response is served instead", arguments: [false, true])
    func staleIfError(isUnreachable: Bool) async throws {
        let transport = MockTransport { request in
            if request.index == 0 { return .text("stored").header("Cache-Control", "max-age=0, stale-if-error=600") }
            if isUnreachable { throw CurlewError(.connectFailed, phase: .connect, reason: "down") }
            return .status(503)
        }
        let breaker = CircuitBreaker(window: .count(2), minimumCalls: 2, openFor: .seconds(3_600))
        var configuration = SessionConfiguration()
        configuration.cache = ResponseCache()
        configuration.resilience.breaker = breaker
        let session = Session(configuration: configuration, transport: transport)
        for _ in 0..<2 { #expect(try await session.request(Self.url).string() == "stored") }
        #expect(await session.resilience.snapshot().circuits[Self.origin]?.failures == 0)
        #expect(transport.requests.count == 2)
        // One success and one failure have opened it.
        let error = try await requireFailure { try await session.request(Self.url).data() }
        #expect(error.code == .circuitOpen)
    }

    @Test("a failure counts once, however many requests have waited for the response to the same request")
    func sharedFetch() async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            if request.index == 0 { return .text("stored").header("Cache-Control", "max-age=0, stale-if-error=600") }
            try await gate.wait()
            return .status(503)
        }
        var configuration = SessionConfiguration()
        configuration.cache = ResponseCache()
        configuration.resilience.breaker = CircuitBreaker()
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await session.request(Self.url).string() == "stored")
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await session.request(Self.url).string() } }
            try await eventually { session.context.resilience?.snapshot().counts.admitted == 11 }
            gate.open()
            for try await text in group { #expect(text == "stored") }
        }
        let circuit = await session.resilience.snapshot().circuits[Self.origin]
        // Requests that came too late to wait have sent one of their own.
        #expect(circuit?.calls == transport.requests.count && circuit?.failures == transport.requests.count - 1)
    }

    @Test("a refused retry of a POST is not safe to repeat, because the first attempt may have taken effect")
    func refusedRetry() async throws {
        let transport = MockTransport { _ in .status(503) }
        for (method, key, isSafe) in [(HTTPMethod.post, nil, false), (.post, "a", true), (.get, nil, true)] {
            let session = Session(
                configuration: SessionConfiguration { $0.resilience.rateLimit = .requests(1, per: .seconds(3_600)) },
                transport: transport, interceptor: RetryingOnce())
            let request = session.request(Self.url, method: method).resilience(waits: false)
            if let key { request.idempotencyKey(key) }
            let error = try await requireFailure { try await request.data() }
            #expect(error.code == .limited && error.isSafeToRetry == isSafe, "\(method) \(key ?? "")")
        }
    }
}

@Suite("A deadline's time and whom it counts against", .timeLimit(.minutes(4)))
struct AttributionTimingTests {
    @Test("a server that had little of a deadline's time is not blamed, and one that had most of it is")
    func sharedDeadline() async throws {
        let (server, gate) = (try TestServer(), Gate())
        server.route("/held") { _ in
            try await gate.wait()
            return .text("late")
        }
        let breaker = Resilience(breaker: CircuitBreaker())
        let session = Session(configuration: SessionConfiguration { $0.resilience = breaker })
        for (used, failures) in [(Duration.milliseconds(2_800), 0), (.zero, 1)] {
            await RequestDeadline.within(.seconds(3)) {
                if used > .zero { try? await Task.sleep(for: used) }
                let request = session.request(server.url("/held"))
                _ = try? await request.data()
                #expect(request.error?.code == .totalTimedOut)
            }
            let circuits = await session.resilience.snapshot().circuits
            #expect(circuits.values.reduce(0) { $0 + $1.failures } == failures)
        }
        gate.open()
    }
}
