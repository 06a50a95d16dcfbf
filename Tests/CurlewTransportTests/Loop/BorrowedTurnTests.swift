import CurlewLocks
import CurlewTesting
import Dispatch
import Glibc
import Testing

@testable import CurlewTransport

/// A caller takes the loop's turn and does its work itself while the loop thread waits.
@Suite("Borrowed turns", .timeLimit(.minutes(4)))
struct BorrowedTurnTests {
    @Test func workRunsOnCallersThreadWhileLoopWaits() throws {
        let (loop, client) = try makeLoop()
        client.awaitSleep()
        #expect(loop.sendOrCarryOut(.note("one")))
        // A signal also ends a wait (scripts/fault-modes). Then the loop thread does the work.
        let staysAsleep = FaultMode.name == nil
        #expect(client.notes == ["one: own thread"] || !staysAsleep)
        #expect(loop.sendOrCarryOut(.note("two")))
        #expect(client.notes == ["one: own thread", "two: own thread"] || !staysAsleep)
        #expect(client.waits == 1 || !staysAsleep)
        loop.stop()
        client.awaitEnd()
        #expect(client.notes.map { $0.prefix(3) } == ["one", "two"])
    }

    @Test func workIsQueuedIfClientLendsNoTurn() throws {
        let (loop, client) = try makeLoop(lends: false)
        client.awaitSleep()
        #expect(loop.sendOrCarryOut(.note("one")))
        loop.stop()
        client.awaitEnd()
        #expect(client.notes == ["one: loop thread"])
    }

    @Test func workSentDuringBorrowedTurnRunsAfterIt() throws {
        let (loop, client) = try makeLoop()
        client.awaitSleep()
        #expect(loop.sendOrCarryOut(.sendTwice))
        loop.stop()
        client.awaitEnd()
        #expect(client.notes == ["sent", "inner: loop thread", "inner: loop thread"])
    }

    @Test func loopWaitsUntilBorrowedTurnEnds() throws {
        let (loop, client) = try makeLoop()
        client.awaitSleep()
        // The loop thread's wait ends during the borrowed turn, so the thread is awake before the turn ends.
        #expect(loop.sendOrCarryOut(.endWaitAndNote))
        loop.stop()
        client.awaitEnd()
        #expect(client.notes == ["noted before the next turn"])
        #expect(client.turnsWhileBorrowed == 0)
    }

    @Test func loopWithLaterDeadlineIsWoken() throws {
        let (loop, client) = try makeLoop()
        client.awaitSleep()
        #expect(loop.sendOrCarryOut(.shorten))
        // Nothing else wakes the loop thread, so a second wait proves that the borrowed turn has ended the first.
        client.awaitSleep()
        // A signal also ends a wait (scripts/fault-modes).
        #expect(client.waits == 2 || FaultMode.name != nil)
        loop.stop()
        client.awaitEnd()
    }

    @Test func aLoopThatHasEndedTakesNothing() throws {
        let (loop, client) = try makeLoop()
        loop.stop()
        client.awaitEnd()
        while loop.send(.note("late")) { sched_yield() }
        #expect(!loop.sendOrCarryOut(.note("later")))
    }

    @Test func onlyOneThreadAtATimeHasTheTurn() async throws {
        let (loop, client) = try makeLoop()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<2_000 { #expect(loop.sendOrCarryOut(.count)) }
                }
            }
        }
        loop.stop()
        client.awaitEnd()
        #expect(client.count == 8_000)
    }

    private func makeLoop(lends: Bool = true) throws -> (LoopThread<LendingClient>, LendingClient) {
        let made = try #require(EpollQueue.make())
        let loop = LoopThread<LendingClient>(wakeUp: made.wakeUp)
        let client = LendingClient(loop: loop, queue: made.queue, wakeUp: made.wakeUp, lends: lends)
        try #require(loop.start(client))
        return (loop, client)
    }
}

/// A client of the loop that waits forever and does the work that it is given.
// SAFETY: `total` and `isShortened` are accessed only within turns. A lock protects everything else that changes.
private final class LendingClient: LoopClient, @unchecked Sendable {
    enum Work: Sendable { case note(String), sendTwice, endWaitAndNote, shorten, count }

    let lendsTurns: Bool
    private let loop: LoopThread<LendingClient>
    private let queue: any ReadinessQueue
    private let wakeUp: EventDescriptor
    private let sleeps = DispatchSemaphore(value: 0)
    private let wokenUp = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let seen = Lock(Seen())
    /// Not protected by a lock, so that the thread sanitizer detects two threads that have the turn at once.
    private var total = 0
    private var isShortened = false

    private struct Seen {
        var notes: [String] = []
        var waits = 0
        var total = 0
        var isBorrowed = false
        var turnsWhileBorrowed = 0
        var loopThread: pthread_t?
    }

    init(loop: LoopThread<LendingClient>, queue: any ReadinessQueue, wakeUp: EventDescriptor, lends: Bool) {
        (self.loop, self.queue, self.wakeUp, lendsTurns) = (loop, queue, wakeUp, lends)
    }

    // MARK: The test

    var notes: [String] { seen.withLock { $0.notes } }
    var waits: Int { seen.withLock { $0.waits } }
    var count: Int { seen.withLock { $0.total } }
    var turnsWhileBorrowed: Int { seen.withLock { $0.turnsWhileBorrowed } }

    /// Returns once the loop thread is in its next wait.
    func awaitSleep() {
        sleeps.wait()
        seen.withLock { _ in }
    }

    func awaitEnd() {
        ended.wait()
        seen.withLock { _ in }
    }

    // MARK: The loop

    func planWait() {}
    var waitsTooLong: Bool { isShortened }

    func waitForSockets(mayWait: Bool) {
        guard mayWait else { return }
        seen.withLock {
            $0.waits += 1
            $0.loopThread = pthread_self()
        }
        sleeps.signal()
        _ = queue.wait(nanoseconds: -1)
        wokenUp.signal()
    }

    func beginTurn() {
        isShortened = false
        seen.withLock { if $0.isBorrowed { $0.turnsWhileBorrowed += 1 } }
    }

    func carryOut(_ work: Work) {
        switch work {
        case .note(let text): note(text + (isOnLoopThread ? ": loop thread" : ": own thread"))
        case .sendTwice:
            for _ in 0..<2 { loop.send(.note("inner")) }
            note("sent")
        case .endWaitAndNote:
            seen.withLock { $0.isBorrowed = true }
            wakeUp.signal()
            wokenUp.wait()
            // Gives a loop thread that does not wait for the turn the time to take it.
            for _ in 0..<200 { sched_yield() }
            note("noted before the next turn")
            seen.withLock { $0.isBorrowed = false }
        case .shorten:
            isShortened = true
            note("shortened")
        case .count: total += 1
        }
    }

    func serveSockets() {}
    func endTurn() {}

    func end() {
        seen.withLock { $0.total = total }
        ended.signal()
    }

    private var isOnLoopThread: Bool {
        seen.withLock { $0.loopThread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    private func note(_ text: String) {
        seen.withLock { $0.notes.append(loop.callerHasTurn ? text : "outside of a turn") }
    }
}
