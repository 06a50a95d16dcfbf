import CurlewLocks
import Dispatch
import Testing

@Suite("Locks", .timeLimit(.minutes(1)))
struct LockTests {
    @Test func keepsConcurrentChangesApart() async {
        let lock = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<10_000 { lock.withLock { $0 += 1 } } } }
        }
        #expect(lock.withLock { $0 } == 80_000)
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
