import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import Curlew

@Suite("Decisions that monitors see", .timeLimit(.minutes(4)))
struct DecisionEventTests {
    private static let url = "https://api.example.org/x"

    /// Records the decisions, and the lines that a log has of them.
    private final class Monitor: EventMonitor {
        let queue = DispatchQueue(label: "decisions")
        let decisions = Lock<[ResilienceDecision]>([])
        let lines = Lock<[String]>([])
        let log: LogEventMonitor

        init() {
            log = LogEventMonitor(queue: queue) { [lines] level, message, fields in
                guard let reason = fields["reason"] else { return }
                lines.withLock { $0.append("\(level) \(message): \(reason)") }
            }
        }

        func request(_ request: Request, didDecide decision: ResilienceDecision) {
            decisions.withLock { $0.append(decision) }
        }
    }

    /// Retries everything, at once.
    private struct Stubborn: RequestInterceptor {
        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult { .retry }
    }

    /// Returns the decisions of a session, and the log of them.
    private func decisions(
        _ resilience: Resilience, _ transport: MockTransport, retrying: Bool = false,
        _ run: (Session) async throws -> Void
    ) async throws -> ([ResilienceDecision], log: [String]) {
        let monitor = Monitor()
        let session = Session(
            configuration: SessionConfiguration { $0.resilience = resilience }, transport: transport,
            interceptor: retrying ? Stubborn() : nil, eventMonitors: [monitor, monitor.log])
        try await run(session)
        await session.drain()
        monitor.queue.sync {}
        return (monitor.decisions.withLock(\.self), monitor.lines.withLock(\.self))
    }

    private func admissions(_ decisions: [ResilienceDecision]) -> [Admission.Decision?] {
        decisions.map { if case .attempt(let admission) = $0 { admission.decision } else { nil } }
    }

    @Test("an attempt that is admitted, and one that is not")
    func attempts() async throws {
        let transport = MockTransport { _ in .text("fine") }
        let resilience = Resilience(rateLimit: .requests(1, per: .seconds(3_600)))
        let (decisions, log) = try await decisions(resilience, transport) { session in
            _ = try await session.request(Self.url).data()
            let refused = session.request(Self.url)
            _ = try await requireFailure { try await refused.data() }
            #expect(refused.attempts.first?.admission?.decision == .rateLimited)
        }
        #expect(admissions(decisions) == [.admitted, .rateLimited])
        #expect(log[0] == "debug request admitted: admitted at once")
        #expect(log[1].hasPrefix("warning request not admitted: the rate limit permits no request, for 3"))
    }

    @Test("an attempt that has waited, and one whose wait a timeout ends")
    func waits() async throws {
        let gate = Gate()
        let transport = MockTransport { request in
            if request.path == "/held" { try await gate.wait() }
            return .text("fine")
        }
        let (decisions, log) = try await decisions(Resilience(concurrency: .fixed(1)), transport) { session in
            async let held = session.request("https://api.example.org/held").data()
            try await gate.waitForArrivals(count: 1)
            let late = session.request(Self.url).timeouts { $0.queue = .milliseconds(20) }
            _ = try await requireFailure { try await late.data() }
            #expect(late.attempts.first?.admission?.decision == .timedOut)
            async let next = session.request(Self.url).data()
            try await eventually { session.context.resilience?.snapshot().waiting == 1 }
            gate.open()
            _ = try await (held, next)
        }
        #expect(admissions(decisions) == [.admitted, .timedOut, .admitted])
        guard case .attempt(let waited)? = decisions.last else { return }
        #expect(waited.waited > .zero)
        #expect(log.last?.hasPrefix("debug request admitted: admitted after") == true)
    }

    @Test("a retry that the budget does not cover")
    func budget() async throws {
        let transport = MockTransport { _ in .status(500) }
        let resilience = Resilience(retryBudget: RetryBudget(ratio: 0, minimumPerSecond: 0, capacity: 1))
        let (decisions, log) = try await decisions(resilience, transport, retrying: true) { session in
            _ = try await requireFailure { try await session.request(Self.url).data() }
        }
        #expect(admissions(decisions) == [.admitted, .admitted, nil])
        #expect(decisions.last == .retryRefusedByBudget)
        #expect(log.last == "warning retry not permitted: no retry: the retry budget is used up")
    }

    @Test("a retry into an open circuit, and an attempt that the circuit refuses")
    func circuit() async throws {
        let transport = MockTransport { _ in .status(503) }
        let breaker = CircuitBreaker(window: .count(2), minimumCalls: 1, openFor: .seconds(3_600))
        let (decisions, _) = try await decisions(Resilience(breaker: breaker), transport, retrying: true) { session in
            for _ in 0..<2 { _ = try await requireFailure { try await session.request(Self.url).data() } }
        }
        #expect(decisions.dropFirst().first == .retryRefusedByCircuit)
        #expect(admissions(decisions).prefix(3) == [.admitted, nil, .circuitOpen])
        #expect(transport.requests.count == 1)
    }

    @Test("a session without limits has no decisions")
    func none() async throws {
        let (decisions, _) = try await decisions(Resilience(), MockTransport { _ in .text("fine") }) { session in
            _ = try await session.request(Self.url).data()
        }
        #expect(decisions.isEmpty)
    }
}
