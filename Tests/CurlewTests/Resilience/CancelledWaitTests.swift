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

    @Test("a circuit that 64 tasks use at once counts every decision")
    func circuit() async throws {
        var breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .zero)
        breaker.isFailure = { _ in true }
        let control = try #require(ResilienceControl(Resilience(breaker: breaker)))
        let keys = AdmissionKeys(circuit: "a")
        if case .decided(.admitted(let permit)) = control.ask(keys, .normal, waitingFor: nil) {
            control.finish(permit, outcome: AttemptOutcome(status: 500), advice: nil)
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    for _ in 0..<200 {
                        if case .decided(.admitted(let permit)) = control.ask(keys, .normal, waitingFor: nil) {
                            control.finish(permit, outcome: AttemptOutcome(status: 500), advice: nil)
                        }
                    }
                }
            }
        }
        let counts = control.snapshot().counts
        #expect(counts.admitted + counts.refusedByCircuit == 64 * 200 + 1 && counts.admitted > 1)
    }
}
