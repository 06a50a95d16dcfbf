import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Circuits shared by a fleet", .timeLimit(.minutes(4)))
struct SharedCircuitTests {
    private static let origin = "https://api.example.org"

    /// A fleet in which the circuits of another process are open. It answers once its gate is open.
    private final class Fleet: CircuitSharing {
        let circuitRefresh = Duration.zero
        let gate = Gate()
        let questions = Lock<[[CircuitQuestion]]>([])

        func ask(_ question: [CircuitQuestion]) async -> [Duration]? {
            questions.withLock { $0.append(question) }
            do { try await gate.wait() } catch { return nil }
            return question.map { _ in .seconds(3_600) }
        }
    }

    private func session(_ fleet: Fleet, _ breaker: CircuitBreaker, _ transport: MockTransport) -> Session {
        var configuration = SessionConfiguration()
        configuration.resilience.concurrency = .fixed(1)
        configuration.resilience.breaker = breaker.shared(byFleet: fleet)
        return Session(configuration: configuration, transport: transport)
    }

    @Test("requests do not wait for the fleet; while another process's circuit is open, fewer failures open this one")
    func slow() async throws {
        let (fleet, held) = (Fleet(), Gate())
        let transport = MockTransport { request in
            guard request.path == "/held" else { return .text("fine") }
            try await held.wait()
            return .status(503)
        }
        let breaker = CircuitBreaker(failureRate: 0.25, minimumCalls: 20, openFor: .seconds(3_600))
        let session = session(fleet, breaker, transport)
        for _ in 0..<3 { _ = try await session.request("\(Self.origin)/x").data() }
        try await fleet.gate.waitForArrivals(count: 1)
        async let first = failure { try await session.request("\(Self.origin)/held").data() }?.code
        try await held.waitForArrivals(count: 1)
        async let second = failure { try await session.request("\(Self.origin)/x").data() }?.code
        try await eventually { session.context.resilience?.snapshot().waiting == 1 }
        #expect(fleet.questions.withLock { $0 } == [[CircuitQuestion(name: Self.origin)]], "one question at a time")
        fleet.gate.open()
        // The next question follows the first answer. The request still waits, because the circuit is closed.
        try await eventually { fleet.questions.withLock { $0.count } == 2 }
        #expect(session.context.resilience?.snapshot().waiting == 1)
        held.open()
        #expect(await first == .unacceptableStatus)
        #expect(await second == .circuitOpen)
        #expect(await failure { try await session.request("\(Self.origin)/x").data() }?.code == .circuitOpen)
        #expect(transport.requests.count == 4)
        #expect(fleet.questions.withLock { $0.joined().allSatisfy { $0.remaining == .zero } }, "not published")
    }

    @Test("a circuit that opens is published without another request")
    func publishes() async throws {
        let fleet = Fleet()
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600))
        let session = session(fleet, breaker, MockTransport { _ in .status(503) })
        #expect(await failure { try await session.request("\(Self.origin)/x").data() }?.code == .unacceptableStatus)
        fleet.gate.open()
        try await eventually { fleet.questions.withLock { $0.joined().contains { $0.remaining > .seconds(3_000) } } }
        #expect(fleet.questions.withLock { $0.joined().allSatisfy { $0.name == Self.origin } })
    }
}
