import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// A loop that does not run while deadlines pass and responses arrive, because its process was stopped or got no
/// processor.
@Suite("Stalled loops", .timeLimit(.minutes(4)))
struct StalledLoopTests {
    @Test(arguments: Stall.allCases) func arrivedResponseWinsOverExpiredDeadline(_ stall: Stall) throws {
        let loop = try HandLoop()
        defer { loop.end() }
        let (server, gate) = (try TestServer(), Gate())
        defer { server.stop() }
        server.script("/x", .text("answer").stalling(until: gate, at: .beforeHead))
        // Makes the connection beforehand: while one is being made, libcurl also checks it whenever its own timers
        // expire.
        let first = try loop.start(server.url("/get"), firstByte: nil)
        while !first.hasEnded { loop.turn() }
        let transfer = try loop.start(server.url("/x"), firstByte: .milliseconds(500).asTestBound)
        while server.requests.count < 2 { loop.turn() }
        loop.awaitSending(of: transfer)
        loop.plan()
        if stall == .beforeTheTurn { loop.wait() }
        gate.open()
        loop.awaitEventAndDeadline(of: transfer)
        switch stall {
        case .duringTheWait:
            loop.queue.isInterrupted = true
            loop.wait()
            loop.queue.isInterrupted = false
            loop.goOn()
        case .beforeTheTurn: loop.goOn()
        case .whileACallerTakesTheTurn:
            let other = try loop.start(server.url("/get"), firstByte: nil)
            #expect(!other.hasEnded)
            loop.wait()
            loop.goOn()
        }
        while !transfer.hasEnded { loop.turn() }
        #expect(transfer.result.error == nil)
    }

    enum Stall: CaseIterable { case duringTheWait, beforeTheTurn, whileACallerTakesTheTurn }

    @Test func deadlineExpiresWithoutAResponse() throws {
        let loop = try HandLoop()
        defer { loop.end() }
        let server = try TestServer()
        defer { server.stop() }
        server.script("/x", .hanging)
        let transfer = try loop.start(server.url("/x"), firstByte: .milliseconds(50).asTestBound)
        while !transfer.hasEnded { loop.turn() }
        #expect(transfer.result.error?.code == .firstByteTimedOut)
    }
}

/// An engine whose turns the test's thread executes step by step.
private struct HandLoop {
    let queue: InterruptedQueue
    private let turns: EngineTurns
    private let transport: CurlTransport

    init() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        let made = try #require(EpollQueue.make())
        queue = InterruptedQueue(made.queue)
        let loop = EngineLoop(wakeUp: made.wakeUp)
        loop.threadBegins()
        transport = CurlTransport(configuration: configuration)
        turns = EngineTurns(
            try EngineSettings(configuration, .current(.ofLibcurl), alternatives: nil), queue: queue,
            published: Lock(TransportStatistics()), loop: loop)
    }

    /// Starts a transfer as a caller does that borrows the turn.
    func start(_ url: URL, firstByte: Duration?) throws -> ActiveTransfer {
        let timeouts = Timeouts(connect: nil, firstByte: firstByte, idle: nil, total: nil, queue: nil)
        let transfer = try transport.makeTransfer(request(url) { $0.options.timeouts = timeouts }, NoSink.shared)
        turns.carryOut(.start(transfer))
        turns.endTurn()
        return transfer
    }

    func plan() { turns.planWait() }
    func wait() { turns.waitForSockets(mayWait: false) }

    func goOn() {
        turns.beginTurn()
        turns.serveSockets()
        turns.endTurn()
    }

    func turn() {
        plan()
        wait()
        goOn()
    }

    func end() { turns.end() }

    /// Returns once the timeout for the first byte runs.
    func awaitSending(of transfer: ActiveTransfer) {
        while transfer.clocks.stretch != .firstByte { turn() }
    }

    /// Returns once the socket is readable and the transfer's deadline has passed.
    func awaitEventAndDeadline(of transfer: ActiveTransfer) {
        while queue.whole.wait(nanoseconds: 1_000_000) == 0 || LoopInstant.now() <= transfer.clocks.next.at {}
    }
}

/// A queue whose waits end without an event while `isInterrupted` is true, as if SIGSTOP and SIGCONT had interrupted
/// them.
private final class InterruptedQueue: ReadinessQueue {
    let whole: any ReadinessQueue
    var isInterrupted = false

    init(_ whole: any ReadinessQueue) { self.whole = whole }

    var mostEvents: Int { whole.mostEvents }
    func set(_ fd: Int32, for wanted: Readiness, tag: UInt64, isKnown: Bool) -> Bool {
        whole.set(fd, for: wanted, tag: tag, isKnown: isKnown)
    }
    func remove(_ fd: Int32) { whole.remove(fd) }
    func wait(nanoseconds: Int64) -> Int { isInterrupted ? 0 : whole.wait(nanoseconds: nanoseconds) }
    func event(_ index: Int) -> ReadyEvent? { whole.event(index) }
}
