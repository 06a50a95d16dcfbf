import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Resilience of one request", .timeLimit(.minutes(4)))
struct RequestResilienceTests {
    private static let url = "https://api.example.org/x"
    private static let origin = "https://api.example.org"
    private static let other = "https://other.example.org"

    private func session(
        _ transport: MockTransport, _ resilience: Resilience, interceptor: (any RequestInterceptor)? = nil
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.resilience = resilience
        return Session(configuration: configuration, transport: transport, interceptor: interceptor)
    }

    @Test(
        "a request without a part of the resilience does not wait for that part, and does not count for it",
        arguments: 0..<3)
    func withoutParts(part: Int) async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            if request.path == "/held" { try await gate.wait() }
            return .status(request.path == "/bad" ? 503 : 200)
        }
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600))
        let (resilience, parts): (Resilience, ResilienceParts) =
            switch part {
            case 0: (Resilience(rateLimit: .requests(1, per: .seconds(3_600))), .rateLimit)
            case 1: (Resilience(concurrency: .fixed(1)), .concurrency)
            default: (Resilience(breaker: breaker), .breaker)
            }
        let session = session(transport, resilience)
        // These take nothing: otherwise the next one would be refused.
        for _ in 0..<2 {
            _ = await Result.of { try await session.request("\(Self.origin)/bad").resilience(without: parts).data() }
        }
        // Now the part refuses every request that asks it.
        async let held = session.request("\(Self.origin)/held").resilience(waits: false).data()
        try await gate.waitForArrivals(count: 1)
        if part == 2 {
            _ = await Result.of { try await session.request("\(Self.origin)/bad").data() }
        }
        let refused = try await requireFailure { try await session.request(Self.url).resilience(waits: false).data() }
        #expect(refused.code == (part == 2 ? .circuitOpen : .limited))
        for parts in [parts, .all] {
            _ = try await session.request(Self.url).resilience(without: parts).data()
        }
        gate.open()
        _ = try await held
        #expect(transport.requests.count == (part == 2 ? 6 : 5))
    }

    @Test("requests with equal keys to one origin share a circuit")
    func ownKey() async throws {
        let transport = MockTransport { request in .status(request.path == "/reports" ? 503 : 200) }
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600))
        let session = session(transport, Resilience(breaker: breaker))
        _ = try await requireFailure {
            try await session.request("\(Self.origin)/reports").resilience(key: "reports").data()
        }
        let refused = try await requireFailure { try await session.request(Self.url).resilience(key: "reports").data() }
        #expect(refused.code == .circuitOpen)
        _ = try await session.request(Self.url).data()
        _ = try await session.request(Self.url).resilience(key: "reports").resilience().data()
        // Another server has not failed, so its circuit is closed.
        _ = try await session.request("\(Self.other)/x").resilience(key: "reports").data()
        let circuits = await session.resilience.snapshot().circuits
        #expect(circuits[Self.origin]?.state == .closed)
        #expect(circuits["\(Self.origin) reports"].map { $0.state != .closed } == true)
        #expect(circuits["\(Self.other) reports"]?.state == .closed)
        #expect(circuits.count == 3)
    }

    @Test("requests with equal keys share rates and concurrency limits, whatever their origin")
    func ownKeyOfLimits() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let session = session(transport, Resilience(rateLimit: .requests(1, per: .seconds(3_600))))
        _ = try await session.request(Self.url).resilience(key: "a", waits: false).data()
        let same = session.request("\(Self.other)/x").resilience(key: "a", waits: false)
        #expect(try await requireFailure { try await same.data() }.code == .limited)
        _ = try await session.request(Self.url).resilience(waits: false).data()
    }

    @Test(
        "a limit that a server announces applies to all requests to its origin, with any key, and to no other origin")
    func announcements() async throws {
        let transport = MockTransport { request in
            request.url.absoluteString.hasPrefix(Self.origin)
                ? .status(429, headers: ["Retry-After": "3600"]) : .text("fine")
        }
        let session = session(transport, Resilience(rateLimit: .requests(1_000_000, per: .seconds(1), burst: 1_000)))
        let first = try await requireFailure { try await session.request(Self.url).resilience(key: "a").data() }
        #expect(first.code == .unacceptableStatus)
        for key in ["a", "b", nil] {
            let refused = session.request(Self.url).resilience(key: key, waits: false)
            #expect(try await requireFailure { try await refused.data() }.code == .limited)
            _ = try await session.request("\(Self.other)/x").resilience(key: key, waits: false).data()
        }
    }

    @Test("the key of a request has no effect on limits whose scope is not the origin")
    func otherScopes() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let limit = RateLimit.requests(1, per: .seconds(3_600), per: .session)
        let session = session(transport, Resilience(rateLimit: limit))
        _ = try await session.request(Self.url).resilience(key: "a", waits: false).data()
        let other = session.request(Self.url).resilience(key: "b", waits: false)
        let refused = try await requireFailure { try await other.data() }
        #expect(refused.code == .limited && refused.retryAfter ?? .zero > .seconds(3_000))
    }

    @Test("retries of a request without the retry budget consume nothing from it")
    func withoutBudget() async throws {
        let transport = MockTransport { _ in .status(503) }
        let budget = RetryBudget(ratio: 0, minimumPerSecond: 0, capacity: 1)
        let session = session(
            transport, Resilience(retryBudget: budget), interceptor: RetryPolicy(exponentialBackoffScale: 0))
        for _ in 0..<2 {
            let request = session.request(Self.url).resilience(without: .retryBudget)
            _ = try await requireFailure { try await request.data() }
            #expect(request.attempts.count == 3)
        }
        // The budget still has its one retry.
        for attempts in [2, 1] {
            let request = session.request(Self.url)
            _ = try await requireFailure { try await request.data() }
            #expect(request.attempts.count == attempts)
        }
    }
}
