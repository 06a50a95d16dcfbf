import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Transfer clocks")
struct TransferClocksTests {
    private func at(_ seconds: UInt64) -> LoopInstant { LoopInstant(nanoseconds: (1000 + seconds) * 1_000_000_000) }

    private func clocks(total: Duration? = nil) -> TransferClocks {
        var clocks = TransferClocks(
            Timeouts(
                connect: .seconds(10), firstByte: .seconds(30), idle: .seconds(20), total: total, queue: .seconds(40)))
        clocks.started = at(0)
        return clocks
    }

    @Test func eachPhaseHasItsOwnTimeout() {
        var clocks = clocks()
        #expect(clocks.next.at == .never)
        clocks.enqueued(at: at(1))
        #expect(clocks.next == (at(41), .queue))
        clocks.connectionStarted(at: at(2))
        #expect(clocks.next == (at(12), .connect))
        clocks.connectionStarted(at: at(5))
        #expect(clocks.next == (at(12), .connect))
        clocks.sendingStarted(at: at(6))
        clocks.byteMoved(at: at(8))
        #expect(clocks.next == (at(28), .idle))
        clocks.requestSent(at: at(9))
        #expect(clocks.next == (at(39), .firstByte))
        clocks.receivingStarted(at: at(10))
        clocks.byteMoved(at: at(11))
        #expect(clocks.next == (at(31), .idle))
    }

    @Test func connectTimeoutIncludesResolverTime() {
        var clocks = clocks()
        clocks.resolvingStarted(at: at(1))
        #expect(clocks.next == (at(11), .connect))
        clocks.resolvingEnded(at: at(4))
        #expect(clocks.next.at == .never)
        clocks.enqueued(at: at(4))
        #expect(clocks.next == (at(44), .queue))
        clocks.connectionStarted(at: at(20))
        #expect(clocks.next == (at(27), .connect))
        #expect(clocks.limit(.connect) == .seconds(10))
        // A new connection has the whole timeout.
        clocks.reset(isPaused: false)
        clocks.enqueued(at: at(21))
        clocks.connectionStarted(at: at(22))
        #expect(clocks.next == (at(32), .connect))
    }

    @Test func totalTimeoutRunsThroughAllPhases() {
        var clocks = clocks(total: .seconds(5))
        #expect(clocks.next == (at(5), .total))
        clocks.enqueued(at: at(1))
        clocks.connectionStarted(at: at(1))
        #expect(clocks.next == (at(5), .total))
    }

    @Test("a transfer that starts over keeps its timeouts paused only while it is paused", arguments: [false, true])
    func startingOverKeepsOnlyACurrentPause(isPaused: Bool) {
        var clocks = clocks()
        clocks.sendingStarted(at: at(0))
        clocks.paused(at: at(1))
        clocks.reset(isPaused: isPaused)
        clocks.sendingStarted(at: at(2))
        clocks.requestSent(at: at(3))
        #expect(clocks.next.at == (isPaused ? .never : at(33)))
    }

    @Test func ownPausesDoNotCountTowardsTimeouts() {
        var clocks = clocks()
        clocks.enqueued(at: at(0))
        clocks.sendingStarted(at: at(0))
        clocks.requestSent(at: at(0))
        clocks.paused(at: at(10))
        #expect(clocks.next.at == .never)
        clocks.paused(at: at(15))
        clocks.resumed(at: at(110))
        #expect(clocks.next == (at(130), .firstByte))
        clocks.receivingStarted(at: at(120))
        clocks.paused(at: at(125))
        clocks.resumed(at: at(225))
        #expect(clocks.next == (at(240), .idle))
    }

    @Test func queueTimeoutIsPausedWithTheTransfer() {
        var clocks = clocks()
        clocks.enqueued(at: at(1))
        clocks.paused(at: at(11))
        #expect(clocks.next.at == .never)
        clocks.resumed(at: at(111))
        #expect(clocks.next == (at(141), .queue))
        // After `reset` the transfer is in no queue, so the end of its pause starts no timeout.
        clocks.paused(at: at(112))
        clocks.reset(isPaused: true)
        clocks.resumed(at: at(120))
        #expect(clocks.next.at == .never)
        clocks.enqueued(at: at(120))
        #expect(clocks.next == (at(160), .queue))
    }

    /// A transfer that is suspended before it is sent starts over while it is paused.
    @Test func queueTimeoutStartsWhenResumed() {
        var clocks = clocks()
        clocks.paused(at: at(1))
        clocks.reset(isPaused: true)
        clocks.enqueued(at: at(51))
        #expect(clocks.next.at == .never)
        clocks.resumed(at: at(101))
        #expect(clocks.next == (at(141), .queue))
    }

    @Test func transferResumedBeforeResolvingHasItsTimeouts() {
        var clocks = clocks()
        clocks.paused(at: at(1))
        clocks.reset(isPaused: true)
        clocks.resumed(at: at(101))
        clocks.resolvingStarted(at: at(101))
        #expect(clocks.next == (at(111), .connect))
        clocks.resolvingEnded(at: at(103))
        clocks.enqueued(at: at(103))
        #expect(clocks.next == (at(143), .queue))
        clocks.connectionStarted(at: at(104))
        #expect(clocks.next == (at(112), .connect))
    }

    @Test func bytesDuringPauseDoNotMoveIdleClockIntoFuture() {
        var clocks = clocks()
        clocks.requestSent(at: at(100))
        clocks.receivingStarted(at: at(120))
        clocks.paused(at: at(125))
        clocks.byteMoved(at: at(200))
        clocks.resumed(at: at(225))
        #expect(clocks.next == (at(245), .idle))
    }

    @Test func disabledTimeoutsNeverExpire() {
        var clocks = TransferClocks(Timeouts(connect: nil, firstByte: nil, idle: nil, total: nil, queue: nil))
        clocks.started = at(0)
        clocks.enqueued(at: at(0))
        #expect(clocks.next.at == .never)
        clocks.requestSent(at: at(0))
        #expect(clocks.next.at == .never)
    }

    /// libcurl rewinds a body if the connection was lost, even while the body's source has no bytes.
    @Test func rewoundBodyHasItsTimeoutsAgain() throws {
        let transport = CurlTransport()
        let settings = try EngineSettings(TransportConfiguration(), .current(.ofLibcurl), alternatives: nil)
        let system = try #require(EpollQueue.make())
        let loop = EngineLoop(wakeUp: system.wakeUp)
        loop.threadBegins()
        let sockets = Sockets(settings, queue: system.queue, loop: loop)
        let handles = Handles(settings, sockets: sockets, loop: loop)
        let transfers = Transfers(settings, sockets: sockets, handles: handles, loop: loop)
        defer { handles.freeShare() }
        let url = try #require(URL(string: "http://a.example/"))
        let body = ScriptedBody([.bytes("a"), .pending], isReplayable: true)
        let upload = request(url, method: .put, body: .stream(body, length: nil))
        let transfer = try transport.makeTransfer(upload, NoSink.shared)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
        defer { buffer.deallocate() }
        func isGiven() -> Bool { if case .bytes = transfer.fill(buffer, transfers) { true } else { false } }

        transfer.clocks.sendingStarted(at: transfers.now)
        #expect(isGiven() && transfer.clocks.next.at != .never)
        #expect(!isGiven() && transfer.clocks.next.at == .never)
        #expect(transfer.sending.upload?.seek(to: 0) == true)
        transfer.clocks.sendingStarted(at: transfers.now)
        #expect(isGiven() && transfer.clocks.next.at != .never)
        // The timeouts pause again while the source has no bytes.
        #expect(!isGiven() && transfer.clocks.next.at == .never)
        #expect(transfer.pauses.sourcePending)
        // libcurl asks again after a suspension, so the transfer does not depend on a wake-up by the source.
        transfer.pauses.isSuspended = true
        #expect(!isGiven() && transfer.clocks.next.at == .never)
        #expect(!transfer.pauses.sourcePending)
    }
}
