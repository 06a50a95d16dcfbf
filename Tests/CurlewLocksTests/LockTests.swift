import CurlewLocks
import Dispatch
import Foundation
import Testing

@Suite("Locks", .timeLimit(.minutes(4)))
struct LockTests {
    @Test func keepsConcurrentChangesApart() async {
        let lock = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<10_000 { lock.withLock { $0 += 1 } } } }
        }
        #expect(lock.withLock { $0 } == 80_000)
    }

    /// More threads than processors, and a lock that is held for longer than others go round in circles: they sleep, and
    /// each has to be woken.
    @Test func thoseWhoSleepAreWoken() async {
        let lock = Lock((isHeld: false, overlaps: 0, rounds: 0))
        let group = DispatchGroup()
        for _ in 0..<8 {
            let thread = Thread {
                for _ in 0..<500 {
                    lock.withLock { state in
                        if state.isHeld { state.overlaps += 1 }
                        state.isHeld = true
                        // Lets others run, who find the lock taken.
                        sched_yield()
                        state.rounds += 1
                        state.isHeld = false
                    }
                }
                group.leave()
            }
            group.enter()
            thread.start()
        }
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        #expect(lock.withLock { $0.overlaps } == 0)
        #expect(lock.withLock { $0.rounds } == 4_000)
    }

    @Test func passesTypedErrorsAndUnlocks() {
        enum Failure: Error { case expected }
        let lock = Lock(1)
        #expect(throws: Failure.expected) { try lock.withLock { (_: inout Int) throws(Failure) in throw .expected } }
        #expect(lock.withLock { $0 } == 1)
    }

    @Test func aHandoffRunsItsWorkOnTheQueueAfterWhatCameBefore() async {
        let queue = DispatchQueue(label: "test")
        let handoff = Handoff()
        let values = Lock<[Int]>([])
        for number in 0..<100 { handoff(to: queue) { values.withLock { $0.append(number) } } }
        await withCheckedContinuation { continuation in handoff(to: queue) { continuation.resume() } }
        #expect(values.withLock { $0 } == Array(0..<100))
    }
}
