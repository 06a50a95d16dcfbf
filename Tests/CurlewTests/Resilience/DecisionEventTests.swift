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
        let sessionDecisions = Lock<[SessionDecision]>([])
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

        func session(_ session: SessionReference, didDecide decision: SessionDecision) {
            sessionDecisions.withLock { $0.append(decision) }
            log.session(session, didDecide: decision)
        }
    }

    private struct Unexpected: Error {}

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
        guard case .attempt(let waited)? = decisions.last else { throw Unexpected() }
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

    // MARK: Decisions that concern more than one request

    private func untilTrue(_ condition: () async -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(40).asTestBound
        while await !condition() { try #require(ContinuousClock.now < deadline) }
    }

    /// Returns the decisions of a session that has ended.
    private func sessionDecisions(
        _ configuration: SessionConfiguration, _ transport: MockTransport, _ run: (Session) async throws -> Void
    ) async throws -> (decisions: [SessionDecision], log: [String]) {
        let monitor = Monitor()
        let session = Session(configuration: configuration, transport: transport, eventMonitors: [monitor])
        try await run(session)
        await session.drain()
        monitor.queue.sync {}
        return (monitor.sessionDecisions.withLock(\.self), monitor.lines.withLock(\.self))
    }

    @Test("a circuit that opens, opens again after a failed probe, and closes")
    func circuitChanges() async throws {
        let transport = MockTransport { request in request.index < 3 ? .status(503) : .text("fine") }
        let breaker = CircuitBreaker(window: .count(2), minimumCalls: 2, openFor: .milliseconds(1))
        let configuration = SessionConfiguration { $0.resilience.breaker = breaker }
        let (decisions, log) = try await sessionDecisions(configuration, transport) { session in
            // Requests that the open circuit refuses are not sent.
            try await untilTrue { (try? await session.request(Self.url).data()) != nil }
        }
        let name = "https://api.example.org"
        #expect(
            decisions == [
                .circuitOpened(name, for: .milliseconds(1), because: .failures(2, of: 2)),
                .circuitOpened(name, for: .milliseconds(1), because: .probe),
                .circuitClosed(name),
            ])
        let changes = log.filter { $0.contains("circuit opened") || $0.contains("circuit closed") }
        #expect(
            changes == [
                "warning circuit opened: \(name): open for 0.001 seconds, because 2 of 2 attempts failed",
                "warning circuit opened: \(name): open for 0.001 seconds, because its probe failed",
                "info circuit closed: \(name): closed, because its probes succeeded",
            ])
    }

    @Test("a circuit that slow responses open")
    func slowCircuit() async throws {
        let breaker = CircuitBreaker(
            slowRate: 1, slowAfter: .zero, window: .count(1), minimumCalls: 1, openFor: .seconds(3_600))
        let configuration = SessionConfiguration { $0.resilience.breaker = breaker }
        let (decisions, _) = try await sessionDecisions(configuration, MockTransport { _ in .text("fine") }) {
            _ = try await $0.request(Self.url).data()
        }
        #expect(
            decisions == [
                .circuitOpened("https://api.example.org", for: .seconds(3_600), because: .slow(1, of: 1))
            ])
    }

    @Test("an endpoint that is ejected and returns")
    func endpoints() async throws {
        let transport = MockTransport { request in
            request.url.host() == "a.test" && request.index < 1 ? .status(503) : .text("fine")
        }
        let ejection = EndpointGroup.Ejection(consecutiveFailures: 1, time: .milliseconds(1))
        let configuration = SessionConfiguration {
            $0.endpoints = EndpointGroup(
                ["https://user:secret@a.test/v1", "https://b.test/v1"], strategy: .failover, ejection: ejection)
        }
        let (decisions, log) = try await sessionDecisions(configuration, transport) { session in
            _ = try await requireFailure { try await session.request("x").data() }
            try await untilTrue {
                _ = try? await session.request("x").data()
                return transport.requests.last?.url.host() == "a.test"
            }
        }
        guard case .endpointEjected(let ejected, let time)? = decisions.first else {
            Issue.record("\(decisions)")
            return
        }
        #expect(ejected.host() == "a.test" && !ejected.absoluteString.contains("secret") && time == .milliseconds(1))
        #expect(decisions.dropFirst() == [.endpointReturned(ejected)])
        #expect(log.last == "info endpoint returned: \(ejected.absoluteString): requests again")
    }

    @Test("a second copy that is refused, because their share is used up or a limit does not permit it")
    func hedges() async throws {
        for (maximumShare, refusal) in [(0.0, Hedging.Refusal.share), (1.0, .limits)] {
            let refused = OneShot<Void>()
            let transport = MockTransport { _ in
                _ = await refused.wait()
                return .text("fine")
            }
            var hedging = Hedging.after(.zero)
            hedging.maximumShare = maximumShare
            let monitor = Monitor()
            let session = Session(
                configuration: SessionConfiguration {
                    $0.resilience = Resilience(concurrency: .fixed(1), hedging: hedging)
                }, transport: transport, eventMonitors: [monitor])
            async let text = session.request(Self.url).string()
            try await eventually { !monitor.sessionDecisions.withLock(\.isEmpty) }
            refused.resolve(())
            #expect(try await text == "fine")
            #expect(
                monitor.sessionDecisions.withLock(\.self)
                    == [.hedgeRefused("https://api.example.org", because: refusal)])
        }
    }

    @Test("keys, which may be secret, are in no text about a circuit")
    func secretNames() async throws {
        let scopes: [(ResilienceScope, String?)] = [
            (.key { $0.headers["Authorization"] ?? "" }, nil), (.origin, "secret"),
            (.key { _ in "https://user:secret@api.example.org/secret" }, nil),
        ]
        for (scope, key) in scopes {
            let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600), per: scope)
            let configuration = SessionConfiguration { $0.resilience.breaker = breaker }
            let transport = MockTransport { _ in .status(503) }
            let (decisions, log) = try await sessionDecisions(configuration, transport) { session in
                var request = session.request(Self.url, headers: ["Authorization": "Bearer secret"])
                if let key { request = request.resilience(key: key) }
                _ = try await requireFailure { try await request.data() }
            }
            #expect(decisions.count == 1 && log.count { $0.contains("circuit opened") } == 1)
            #expect(!(log + decisions.map(\.description)).contains { $0.contains("secret") })
        }
    }

    @Test("events of a circuit arrive in their order from many threads, and a monitor may ask for a snapshot")
    func order() async throws {
        let monitor = AskingMonitor()
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .zero, per: .session)
        let flips = Lock(0)
        let transport = MockTransport { _ in
            flips.withLock { flips in
                flips += 1
                return flips.isMultiple(of: 2) ? .text("fine") : .status(503)
            }
        }
        let session = Session(
            configuration: SessionConfiguration { $0.resilience.breaker = breaker }, transport: transport,
            eventMonitors: [monitor])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask { for _ in 0..<20 { _ = try? await session.request(Self.url).data() } }
            }
        }
        await session.drain()
        withExtendedLifetime(session) { monitor.queue.sync {} }
        let states = monitor.states.withLock(\.self)
        #expect(states.count > 10 && states.first == true)
        // An open circuit that opens again had a failed probe in between; a closed one never closes.
        #expect(!zip(states, states.dropFirst()).contains { $0 == false && $1 == false })
        #expect(monitor.asked.withLock { $0 })
    }

    /// Records whether the circuit has opened or closed, and asks the session in the event.
    private final class AskingMonitor: EventMonitor {
        let queue = DispatchQueue(label: "asking")
        let states = Lock<[Bool]>([])
        let asked = Lock(false)

        func session(_ session: SessionReference, didDecide decision: SessionDecision) {
            if case .circuitOpened = decision { states.withLock { $0.append(true) } }
            if case .circuitClosed = decision { states.withLock { $0.append(false) } }
            guard let control = session.session?.context.resilience else { return }
            _ = control.snapshot()
            asked.withLock { $0 = true }
        }
    }
}
