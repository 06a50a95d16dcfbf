import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

// Under the thread sanitizer, these tests show that each permit has exactly one owner, whether it is granted or its
// wait is cancelled first.
@Suite("Cancelled waits", .timeLimit(.minutes(10)))
struct CancelledWaitTests {
    @Test("100,000 waits that are cancelled at any moment leak no place")
    func hundredThousand() async throws {
        let places = 3
        let control = try #require(ResilienceControl(Resilience(concurrency: .fixed(places, per: .session))))
        let keys = AdmissionKeys(places: "session")
        let (inUse, most, admitted) = (Lock(0), Lock(0), Lock(0))
        @Sendable func use(_ permit: AdmissionState.Permit) async {
            let now = inUse.withLock { count in
                count += 1
                return count
            }
            most.withLock { $0 = max($0, now) }
            admitted.withLock { $0 += 1 }
            await Task.yield()
            inUse.withLock { $0 -= 1 }
            control.release(permit)
        }
        @Sendable func once(_ priority: RequestPriority) async {
            switch control.ask(keys, priority, waitingFor: nil) {
            case .decided(.admitted(let permit)): await use(permit)
            case .decided(.refused): Issue.record("nothing refuses it")
            case .waits(let place):
                if case .admitted(let permit)? = await place.verdict.wait() {
                    await use(permit)
                } else if case .admitted(let permit)? = await control.leave(place) {
                    control.release(permit)
                }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<64 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix(seed: worker)
                    for _ in 0..<100_000 / 64 + 1 {
                        let task = Task { [priority = RequestPriority(urgency: .random(in: 0...7, using: &random))] in
                            await once(priority)
                        }
                        for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
                        if Int.random(in: 0..<8, using: &random) > 0 { task.cancel() }
                        await task.value
                    }
                }
            }
        }
        #expect(most.withLock { $0 } <= places && admitted.withLock { $0 } > 0)
        let snapshot = control.snapshot()
        #expect(snapshot.waiting == 0 && snapshot.concurrency["session"]?.inFlight == 0)
    }

    @Test("requests that are cancelled while they wait leave no waiter and no place in use", arguments: [true, false])
    func requests(hasHandler: Bool) async throws {
        let transport = MockTransport { _ in
            await Task.yield()
            return .text("fine")
        }
        let session = Session(
            configuration: SessionConfiguration { $0.resilience.concurrency = .fixed(2) }, transport: transport)
        await cancelAtRandom(50, hasHandler: hasHandler) { session.request("https://api.example.org/") }
        await session.drain()
        let snapshot = await session.resilience.snapshot()
        #expect(snapshot.waiting == 0 && snapshot.concurrency["https://api.example.org"]?.inFlight == 0)
        #expect(snapshot.counts.admitted > 0 && snapshot.counts.waited > 0)
    }

    /// Runs `body` in 64 threads of the system at the same time. Tasks would share a few threads.
    private func inThreads(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            let running = Lock(64)
            for _ in 0..<64 {
                Thread.detachNewThread {
                    body()
                    let isLast = running.withLock { count in
                        count -= 1
                        return count == 0
                    }
                    if isLast { continuation.resume() }
                }
            }
        }
    }

    /// A control with a circuit that opens with the first failure, for an hour, and a clock that only `advance` moves.
    private struct HourCircuit {
        let control: ResilienceControl
        private let time: Lock<Duration>

        init(probes: Int) throws {
            let time = Lock(Duration.zero)
            let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600), probes: probes)
            let resilience = Resilience(breaker: breaker)
            let control = ResilienceControl(resilience, clock: { time.withLock { $0 } })
            self.control = try #require(control)
            self.time = time
        }

        func advance() { time.withLock { $0 += .seconds(3_600) } }

        func ask() -> AdmissionState.Permit? {
            let answer = control.ask(AdmissionKeys(circuit: "a"), .normal, waitingFor: nil)
            return if case .decided(.admitted(let permit)) = answer { permit } else { nil }
        }

        func finish(_ permit: AdmissionState.Permit?, status: Int) {
            if let permit { control.finish(permit, outcome: AttemptOutcome(status: status), advice: nil) }
        }
    }

    @Test("of 64 threads that ask an open circuit at once, none is admitted, and one as a probe when its time is over")
    func openCircuit() async throws {
        let circuit = try HourCircuit(probes: 1)
        let (rounds, asks) = (20, 50)
        circuit.finish(circuit.ask(), status: 500)
        for _ in 0..<rounds {
            let admitted = Lock<[AdmissionState.Permit]>([])
            let askAll: @Sendable () -> Void = {
                for _ in 0..<asks {
                    if let permit = circuit.ask() { admitted.withLock { $0.append(permit) } }
                }
            }
            await inThreads(askAll)
            #expect(admitted.withLock(\.count) == 0)
            circuit.advance()
            await inThreads(askAll)
            #expect(admitted.withLock(\.count) == 1)
            circuit.finish(admitted.withLock(\.first), status: 500)
        }
        let counts = circuit.control.snapshot().counts
        #expect(counts.admitted == 1 + rounds && counts.refusedByCircuit == rounds * (2 * 64 * asks - 1))
    }

    @Test("64 threads send at most one probe at a time, and as many as close the circuit")
    func probes() async throws {
        let probes = 500
        let circuit = try HourCircuit(probes: probes)
        circuit.finish(circuit.ask(), status: 500)
        circuit.advance()
        let (inFlight, most, sent) = (Lock(0), Lock(0), Lock(0))
        await inThreads {
            while sent.withLock({ $0 }) < probes {
                guard let permit = circuit.ask() else { continue }
                let isProbe = sent.withLock { count in
                    count += 1
                    return count <= probes
                }
                // The circuit has closed since this thread has looked at the count.
                guard isProbe else { return circuit.finish(permit, status: 200) }
                let now = inFlight.withLock { count in
                    count += 1
                    return count
                }
                most.withLock { $0 = max($0, now) }
                // The other threads ask meanwhile.
                sched_yield()
                inFlight.withLock { $0 -= 1 }
                circuit.finish(permit, status: 200)
            }
        }
        #expect(most.withLock { $0 } == 1)
        let snapshot = circuit.control.snapshot()
        #expect(snapshot.circuits["a"]?.state == .closed)
        #expect(snapshot.counts.admitted == 1 + sent.withLock { $0 } && snapshot.counts.refusedByCircuit > 0)
    }
}
