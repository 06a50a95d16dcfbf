import CurlewLocks
import Dispatch
import Foundation
import Testing

@Suite("Locks", .timeLimit(.minutes(4)))
struct LockTests {
    @Test func lockKeepsConcurrentChangesApart() async {
        let lock = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<10_000 { lock.withLock { $0 += 1 } } } }
        }
        #expect(lock.withLock { $0 } == 80_000)
    }

    /// Eight threads compete for the lock, and its holder lets the others run. So they sleep in the mutex, and the
    /// holder must wake each of them.
    @Test func lockWakesSleepingThreads() async {
        let lock = Lock((isHeld: false, overlaps: 0, rounds: 0))
        let group = DispatchGroup()
        for _ in 0..<8 {
            let thread = Thread {
                for _ in 0..<500 {
                    lock.withLock { state in
                        if state.isHeld { state.overlaps += 1 }
                        state.isHeld = true
                        // Lets other threads run, which find the lock taken.
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

    @Test func lockPassesOnTypedErrorsAndUnlocks() {
        enum Failure: Error { case expected }
        let lock = Lock(1)
        #expect(throws: Failure.expected) { try lock.withLock { (_: inout Int) throws(Failure) in throw .expected } }
        #expect(lock.withLock { $0 } == 1)
    }

    #if DEBUG && compiler(>=6.2)
    /// In a release build the thread would wait for ever, so this needs a debug build.
    @Test func takingALockTwiceTrapsInDebugBuild() async {
        await #expect(processExitsWith: .failure) {
            let lock = Lock(0)
            lock.withLock { _ in lock.withLock { $0 += 1 } }
        }
    }
    #endif

    @Test func threadMayTakeAReleasedLockAgain() {
        let (outer, inner) = (Lock(0), Lock(0))
        for _ in 0..<3 {
            outer.withLock { outer in
                outer += 1
                inner.withLock { $0 += 1 }
            }
        }
        #expect(outer.withLock { $0 } + inner.withLock { $0 } == 6)
    }

    /// The body releases the last reference to the owner of the lock.
    @Test func lockOutlivesItsOwnerReleasedInTheBody() {
        final class Owner: Sendable {
            let lock = Lock(0)
        }
        let owner = Lock<Owner?>(Owner())
        func lock() -> Lock<Int> { owner.withLock { $0?.lock } ?? Lock(-1) }
        let left = lock().withLock { state in
            let last = owner.withLock { exchange(&$0) }
            withExtendedLifetime(last) {}
            state += 1
            return state
        }
        #expect(left == 1)

        func exchange(_ owner: inout Owner?) -> Owner? {
            defer { owner = nil }
            return owner
        }
    }

    /// In a release build, a discarded result could be released before the lock is free; its `deinit` would then wait
    /// for its own thread. A debug build keeps the result until the end of the statement, so this can only fail in a
    /// release build.
    @Test func discardedResultIsReleasedAfterUnlocking() {
        final class Asker: Sendable {
            let lock: Lock<Asker?>
            init(_ lock: Lock<Asker?>) { self.lock = lock }
            deinit { lock.withLock { _ in } }
        }
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let lock = Lock<Asker?>(nil)
            lock.withLock { $0 = Asker(lock) }
            _ = lock.withLock { asker in
                defer { asker = nil }
                return asker
            }
            done.signal()
        }
        thread.start()
        #expect(done.wait(timeout: .now() + 10) == .success)
    }

    /// The lock owns its state, so the state need not be Sendable. A result of `withLock` must not share the state.
    @Test func lockMayHoldNonSendableState() async {
        final class Counter {
            var count = 0
        }
        let lock = Lock(Counter())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { lock.withLock { $0.count += 1 } } }
        }
        let counter = lock.withLock { counter in
            let old = counter
            counter = Counter()
            return old
        }
        #expect(counter.count == 4)
        #expect(lock.withLock { $0.count } == 0)
    }

    @Test func handoffRunsWorkInOrderOnTheQueue() async {
        let queue = DispatchQueue(label: "test")
        let handoff = Handoff()
        let values = Lock<[Int]>([])
        for number in 0..<100 { handoff(to: queue) { values.withLock { $0.append(number) } } }
        await withCheckedContinuation { continuation in handoff(to: queue) { continuation.resume() } }
        #expect(values.withLock { $0 } == Array(0..<100))
    }
}
