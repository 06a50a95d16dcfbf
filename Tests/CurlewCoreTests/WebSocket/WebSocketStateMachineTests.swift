internal import CurlewCore
internal import Testing

@Suite("WebSocket state machine", .timeLimit(.minutes(4)))
struct WebSocketStateMachineTests {
    private static let start = ContinuousClock.now

    private static func after(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private static func machine(pingInterval: Duration? = nil) -> WebSocketStateMachine {
        WebSocketStateMachine(
            clocks: .init(pingInterval: pingInterval, pongTimeout: .seconds(20), closeTimeout: .seconds(5)), at: start)
    }

    private static func ping(
        _ machine: inout WebSocketStateMachine, at now: ContinuousClock.Instant
    ) -> (id: UInt64, payload: [UInt8]) {
        let ping = machine.pingAsked(at: now)
        #expect(ping != nil)
        return ping ?? (0, [])
    }

    private static func code(_ code: UInt16) -> [UInt8] { [UInt8(code >> 8), UInt8(code & 0xFF)] }

    @Test("an open WebSocket delivers messages and answers pings")
    func open() {
        var machine = Self.machine()
        #expect(machine.received(.message(.text("a")), at: Self.start) == .deliver(.text("a")))
        #expect(machine.received(.ping([1, 2]), at: Self.start) == .send(.pong, [1, 2]))
        #expect(machine.received(.pong([9]), at: Self.start) == .none)
        #expect(machine.isOpen && machine.nextDeadline == nil)
    }

    @Test(
        "a close frame of the peer is answered with its code, and ends the WebSocket",
        arguments: [(nil, 1005), (1000, 1000), (1001, 1001), (1011, 1011), (4000, 4000)] as [(UInt16?, UInt16)])
    func peerCloses(code: UInt16?, seen: UInt16) {
        var machine = Self.machine()
        let action = machine.received(
            .close(code.map(WebSocketCloseCode.init), reason: code == nil ? "" : "bye"), at: Self.start)
        #expect(action == .finish(last: code.map(Self.code) ?? []))
        #expect(machine.ending?.closeCode.rawValue == seen)
        #expect(machine.ending?.closeReason == (code == nil ? nil : "bye"))
        #expect(!machine.isOpen)
    }

    @Test("after this side has closed, messages are dropped, and the close frame of the peer ends the WebSocket")
    func closing() {
        var machine = Self.machine()
        #expect(
            machine.closeAsked(.goingAway, reason: "done", at: Self.start)
                == .send(.close, Self.code(1001) + Array("done".utf8)))
        #expect(machine.nextDeadline == Self.after(5))
        #expect(machine.closeAsked(.normalClosure, reason: nil, at: Self.start) == .none)
        #expect(machine.received(.message(.text("late")), at: Self.start) == .none)
        #expect(machine.received(.ping([]), at: Self.start) == .none)
        #expect(machine.pingAsked(at: Self.start) == nil)
        // The close frame may not have been queued yet.
        let frame = Self.code(1001) + Array("done".utf8)
        #expect(machine.received(.close(.goingAway, reason: ""), at: Self.start) == .finish(last: frame))
        guard case .closed(.goingAway, _, byPeer: false)? = machine.ending else {
            Issue.record("\(String(describing: machine.ending))")
            return
        }
        // Until this deadline, the peer may still receive the close frame.
        #expect(machine.nextDeadline == Self.after(5))
        #expect(machine.timePassed(at: Self.after(5)) == .abort)
        #expect(machine.nextDeadline == nil && machine.timePassed(at: Self.after(6)) == .none)
    }

    @Test("a WebSocket whose close frame is not answered ends at the close timeout")
    func unanswered() {
        var machine = Self.machine()
        _ = machine.closeAsked(.normalClosure, reason: nil, at: Self.start)
        #expect(machine.timePassed(at: Self.after(4)) == .none)
        #expect(machine.timePassed(at: Self.after(5)) == .abort)
        #expect(machine.ending?.closeCode == .abnormalClosure)
        #expect(machine.timePassed(at: Self.after(6)) == .none)
    }

    @Test(
        "the end of the connection is a cut while open, and an unanswered close while closing",
        arguments: [false, true])
    func wireEnds(isClosing: Bool) {
        var machine = Self.machine()
        if isClosing { _ = machine.closeAsked(.normalClosure, reason: nil, at: Self.start) }
        #expect(machine.wireEnded(nil) == .abort)
        switch machine.ending {
        case .unanswered: #expect(isClosing)
        case .cut: #expect(!isClosing)
        case .closed, .broken, .violated, .silent, nil: Issue.record("\(String(describing: machine.ending))")
        }
        #expect(machine.wireEnded(nil) == .none)
    }

    @Test("a broken connection ends the WebSocket with its error")
    func wireBreaks() {
        var machine = Self.machine()
        #expect(machine.wireEnded(CurlewError(.receiveFailed, phase: .receive, reason: "reset")) == .abort)
        guard case .broken(let error)? = machine.ending else {
            Issue.record("\(String(describing: machine.ending))")
            return
        }
        #expect(error.code == .receiveFailed)
    }

    @Test(
        "a violation is reported to the peer, unless this side has already closed",
        arguments: [false, true])
    func violation(isClosing: Bool) {
        var machine = Self.machine()
        if isClosing { _ = machine.closeAsked(.normalClosure, reason: nil, at: Self.start) }
        let violation = WebSocketViolation(.invalidFramePayloadData, "no text")
        let last = isClosing ? Self.code(1000) : Self.code(1007) + Array("no text".utf8)
        #expect(machine.violated(violation, at: Self.start) == .finish(last: last))
        #expect(machine.ending?.closeCode == .invalidFramePayloadData)
        #expect(machine.violated(violation, at: Self.start) == .none)
        #expect(machine.received(.close(nil, reason: ""), at: Self.start) == .none)
    }

    @Test("a pong answers its ping and those before it")
    func pings() {
        var machine = Self.machine()
        let first = Self.ping(&machine, at: Self.start)
        let second = Self.ping(&machine, at: Self.after(1))
        let third = Self.ping(&machine, at: Self.after(2))
        #expect(first.payload.count == 8 && first.payload != second.payload)
        #expect(
            machine.received(.pong(second.payload), at: Self.after(3))
                == .complete([
                    .init(ping: first.id, duration: .seconds(3)), .init(ping: second.id, duration: .seconds(2)),
                ]))
        #expect(machine.received(.pong(first.payload), at: Self.after(3)) == .none)
        #expect(machine.nextDeadline == Self.after(22))
        #expect(
            machine.received(.pong(third.payload), at: Self.after(4))
                == .complete([.init(ping: third.id, duration: .seconds(2))]))
        #expect(machine.nextDeadline == nil)
    }

    @Test("a ping without its pong ends the connection")
    func silence() {
        var machine = Self.machine()
        _ = Self.ping(&machine, at: Self.start)
        #expect(machine.timePassed(at: Self.after(19)) == .none)
        #expect(machine.timePassed(at: Self.after(20)) == .abort)
        guard case .silent(after: .seconds(20))? = machine.ending else {
            Issue.record("\(String(describing: machine.ending))")
            return
        }
    }

    @Test("heartbeat pings are sent one at a time, an interval after the last pong")
    func heartbeat() {
        var machine = Self.machine(pingInterval: .seconds(30))
        #expect(machine.nextDeadline == Self.after(30))
        #expect(machine.timePassed(at: Self.after(29)) == .none)
        guard case .send(.ping, let payload) = machine.timePassed(at: Self.after(30)) else {
            Issue.record("no ping")
            return
        }
        #expect(machine.nextDeadline == Self.after(50))
        #expect(machine.timePassed(at: Self.after(31)) == .none)
        guard case .complete = machine.received(.pong(payload), at: Self.after(32)) else {
            Issue.record("no round trip")
            return
        }
        #expect(machine.nextDeadline == Self.after(62))
    }

    @Test("a vanished peer is noticed after the ping interval and the pong timeout, whatever was sent meanwhile")
    func vanished() {
        var machine = Self.machine(pingInterval: .seconds(30))
        guard case .send(.ping, _) = machine.timePassed(at: Self.after(30)) else {
            Issue.record("no ping")
            return
        }
        // A later ping by the user does not give the peer more time.
        _ = Self.ping(&machine, at: Self.after(45))
        #expect(machine.timePassed(at: Self.after(49)) == .none)
        #expect(machine.timePassed(at: Self.after(50)) == .abort)
        guard case .silent? = machine.ending else {
            Issue.record("\(String(describing: machine.ending))")
            return
        }
    }

    @Test("the pong timeout restarts with each write up to that of its ping, and not with later ones")
    func waitsForItsWriter() {
        var machine = Self.machine()
        let ping = machine.pingAsked(at: Self.start, behind: 1000)
        #expect(machine.nextDeadline == Self.after(20))
        machine.wrote(from: 0, at: Self.after(15))
        #expect(machine.timePassed(at: Self.after(34)) == .none)
        // This write begins with the ping, so the pong's timeout restarts a last time.
        machine.wrote(from: 1000, at: Self.after(34))
        #expect(machine.nextDeadline == Self.after(54))
        // Later writes contain bytes that were queued after the ping. They do not extend the timeout.
        machine.wrote(from: 1014, at: Self.after(50))
        #expect(machine.timePassed(at: Self.after(53)) == .none)
        #expect(ping != nil && machine.timePassed(at: Self.after(54)) == .abort)
    }

    @Test("a peer that accepts no bytes is noticed although the ping was never written")
    func takesNothing() {
        var machine = Self.machine(pingInterval: .seconds(30))
        guard case .send(.ping, _) = machine.timePassed(at: Self.after(30), behind: 1000) else {
            Issue.record("no ping")
            return
        }
        machine.wrote(from: 0, at: Self.after(40))
        #expect(machine.timePassed(at: Self.after(59)) == .none)
        #expect(machine.timePassed(at: Self.after(60)) == .abort)
    }

    @Test("writes while reading is paused do not start the pong timeout")
    func writesWhilePaused() {
        var machine = Self.machine()
        _ = machine.pingAsked(at: Self.start, behind: 1000)
        machine.readingPaused()
        machine.wrote(from: 0, at: Self.after(1))
        #expect(machine.nextDeadline == nil)
    }

    // MARK: Dropped

    private static let soon = start + .milliseconds(20)

    @Test(
        "a dropped WebSocket sends its close frame, and does not wait for that of the peer", arguments: [false, true])
    func dropped(isClosing: Bool) {
        var machine = Self.machine()
        if isClosing { _ = machine.closeAsked(.goingAway, reason: nil, at: Self.start) }
        #expect(machine.dropped(at: Self.start) == .finish(last: Self.code(isClosing ? 1001 : 1000)))
        guard case .unanswered? = machine.ending else {
            Issue.record("\(String(describing: machine.ending))")
            return
        }
        #expect(!machine.isOpen && machine.ending?.error == nil)
        #expect(machine.received(.message(.text("late")), at: Self.start) == .none)
        #expect(machine.received(.close(.normalClosure, reason: ""), at: Self.start) == .none)
        #expect(machine.nextDeadline == Self.soon)
        #expect(machine.timePassed(at: Self.start) == .none)
        #expect(machine.timePassed(at: Self.soon) == .abort)
        #expect(machine.nextDeadline == nil && machine.dropped(at: Self.after(1)) == .none)
    }

    @Test("a WebSocket that is dropped after its ending has less time for its last frame", arguments: [false, true])
    func droppedAtItsEnd(isViolated: Bool) {
        var machine = Self.machine()
        if isViolated {
            _ = machine.violated(WebSocketViolation(.protocolError, "x"), at: Self.start)
        } else {
            _ = machine.received(.close(.goingAway, reason: ""), at: Self.start)
        }
        #expect(machine.nextDeadline == Self.after(5))
        #expect(machine.dropped(at: Self.start) == .none)
        #expect(machine.nextDeadline == Self.soon)
        // A second call does not extend the time.
        #expect(machine.dropped(at: Self.after(1)) == .none && machine.nextDeadline == Self.soon)
        #expect(machine.ending?.closeCode == (isViolated ? .protocolError : .goingAway))
        #expect(machine.timePassed(at: Self.soon) == .abort)
    }

    @Test("a WebSocket that is dropped after a failed write ends with that error, at once")
    func droppedAfterFailedWrite() {
        var machine = Self.failing()
        #expect(machine.dropped(at: Self.start) == .abort)
        #expect(machine.ending?.error?.code == .sendFailed && machine.nextDeadline == nil)
    }

    @Test("a shorter close timeout limits the time of a dropped WebSocket, too")
    func droppedWithShortTimeout() {
        var machine = WebSocketStateMachine(clocks: .init(closeTimeout: .milliseconds(5)), at: Self.start)
        _ = machine.dropped(at: Self.start)
        #expect(machine.nextDeadline == Self.start + .milliseconds(5))
    }

    // MARK: A write fails

    private static func failing() -> WebSocketStateMachine {
        var machine = Self.machine(pingInterval: .seconds(1))
        #expect(machine.writeFailed(CurlewError(.sendFailed, phase: .send), at: Self.start) == .none)
        return machine
    }

    @Test("after a failed write, messages are still received, and nothing is sent")
    func failedWrite() {
        var machine = Self.failing()
        #expect(!machine.isOpen && machine.ending == nil && machine.nextDeadline == Self.after(5))
        #expect(machine.received(.message(.text("a")), at: Self.start) == .deliver(.text("a")))
        #expect(machine.received(.ping([1]), at: Self.start) == .none)
        #expect(machine.pingAsked(at: Self.start) == nil)
        #expect(machine.closeAsked(.normalClosure, reason: nil, at: Self.start) == .none)
        #expect(machine.received(.close(.tryAgainLater, reason: "later"), at: Self.start) == .abort)
        #expect(machine.ending?.error?.closeCode == .tryAgainLater)
        #expect(machine.ending?.closeReason == "later")
    }

    enum Silence: CaseIterable { case end, failure, time, violation }

    @Test("a failed write is the error of the WebSocket if the peer sends no close frame", arguments: Silence.allCases)
    func failedWriteInSilence(silence: Silence) {
        var machine = Self.failing()
        #expect(machine.timePassed(at: Self.after(4)) == .none)
        let action =
            switch silence {
            case .end: machine.wireEnded(nil)
            case .failure: machine.wireEnded(CurlewError(.receiveFailed, phase: .receive))
            case .time: machine.timePassed(at: Self.after(5))
            case .violation: machine.violated(WebSocketViolation(.protocolError, "x"), at: Self.start)
            }
        #expect(action == .abort)
        #expect(machine.ending?.error?.code == .sendFailed)
        #expect(machine.ending?.closeCode == .abnormalClosure)
    }

    @Test("a write that fails while this side closes changes nothing")
    func failedWriteWhileClosing() {
        var machine = Self.machine()
        _ = machine.closeAsked(.normalClosure, reason: nil, at: Self.start)
        #expect(machine.writeFailed(CurlewError(.sendFailed, phase: .send), at: Self.after(1)) == .none)
        #expect(machine.nextDeadline == Self.after(5))
        let action = machine.received(.close(.normalClosure, reason: ""), at: Self.after(2))
        #expect(action == .finish(last: Self.code(1000)))
    }

    @Test("the pong timeout stops while reading is paused, and restarts when it resumes")
    func paused() {
        var machine = Self.machine()
        _ = Self.ping(&machine, at: Self.start)
        machine.readingPaused()
        _ = Self.ping(&machine, at: Self.after(1))
        #expect(machine.nextDeadline == nil)
        #expect(machine.timePassed(at: Self.after(100)) == .none)
        machine.readingResumed(at: Self.after(100))
        #expect(machine.nextDeadline == Self.after(120))
        machine.readingResumed(at: Self.after(110))
        #expect(machine.timePassed(at: Self.after(120)) == .abort)
    }
}
