/// The state of a WebSocket after its handshake. It only decides; the caller acts.
///
/// Methods are named after events and return the action to perform. The caller passes the time.
///
///     open ── closeAsked ─▶ closing ── received(close) ─▶ closed
///       ├── writeFailed ─▶ failing                            (what the peer has sent is still read)
///       └── received(close), violated, wireEnded, timePassed, dropped ─▶ closed      (from closing and failing, too)
package struct WebSocketStateMachine: Sendable {
    package typealias Instant = ContinuousClock.Instant
    package typealias PingID = UInt64

    package struct Clocks: Sendable, Hashable {
        /// The time from a pong to the next automatic ping; `nil` for no automatic pings.
        package var pingInterval: Duration?
        /// The time that the peer has for a pong.
        package var pongTimeout: Duration
        /// The time that the peer has for its close frame, and to take the last frame of this side.
        package var closeTimeout: Duration
        /// The time that the peer of a dropped WebSocket has to take the queued frames. A dropped WebSocket frees its
        /// connection within 50 ms.
        package static let dropTimeout = Duration.milliseconds(20)

        package init(
            pingInterval: Duration? = nil, pongTimeout: Duration = .seconds(20), closeTimeout: Duration = .seconds(5)
        ) {
            self.pingInterval = pingInterval
            self.pongTimeout = pongTimeout
            self.closeTimeout = closeTimeout
        }
    }

    package struct RoundTrip: Sendable, Equatable {
        package let ping: PingID
        package let duration: Duration

        package init(ping: PingID, duration: Duration) {
            self.ping = ping
            self.duration = duration
        }
    }

    package enum Action: Sendable, Equatable {
        case none
        case deliver(WebSocketMessage)
        case send(WebSocketOpcode, [UInt8])
        /// Pings were answered, including automatic ones.
        case complete([RoundTrip])
        /// Send the close frame after everything that is queued, unless it has been sent; then close the connection.
        case finish(last: [UInt8])
        /// Close the connection at once.
        case abort
    }

    private enum State {
        case open
        /// `frame` is the payload of this side's close frame. It is sent again with the end: the peer's close frame or
        /// violation may arrive before the frame has been queued. The outbox sends only the first.
        case closing(deadline: Instant, frame: [UInt8])
        /// Sending has failed. The peer may have sent the reason before, so reading continues until the deadline.
        case failing(CurlewError, deadline: Instant)
        /// The end is decided. Queued frames are still sent until `flushBy`, if there is such a time.
        case closed(WebSocketEnding, flushBy: Instant?)
    }

    private struct Ping {
        let id: PingID
        let sent: Instant
        /// The number of bytes that were queued before the ping.
        let position: Int
        /// The deadline of the pong. `nil` while this side does not read, because the pong may be among the unread
        /// bytes.
        var deadline: Instant?
        let isHeartbeat: Bool
    }

    private let clocks: Clocks
    private var state = State.open
    private var pings: [Ping] = []
    private var lastPing: PingID = 0
    private var nextHeartbeat: Instant?
    private var readsNow = true

    package init(clocks: Clocks, at now: Instant) {
        self.clocks = clocks
        nextHeartbeat = clocks.pingInterval.map { now + $0 }
    }

    // MARK: Questions

    package var isOpen: Bool {
        switch state {
        case .open: true
        case .closing, .failing, .closed: false
        }
    }

    package var ending: WebSocketEnding? {
        switch state {
        case .open, .closing, .failing: nil
        case .closed(let ending, _): ending
        }
    }

    /// The error of a failed write, while the end of the WebSocket is not decided yet.
    package var sendFailure: CurlewError? {
        if case .failing(let error, _) = state { error } else { nil }
    }

    /// The time of the next call to `timePassed`.
    package var nextDeadline: Instant? {
        switch state {
        case .open: [nextHeartbeat, pings.lazy.compactMap(\.deadline).min()].compactMap(\.self).min()
        case .closing(let deadline, _), .failing(_, let deadline): deadline
        case .closed(_, let flushBy): flushBy
        }
    }

    // MARK: The peer

    package mutating func received(_ event: WebSocketEvent, at now: Instant) -> Action {
        switch (state, event) {
        case (.closed, _): return .none
        case (.open, .message(let message)), (.failing, .message(let message)): return .deliver(message)
        // A closing WebSocket has no reader, and neither a closing nor a failing one may send a pong.
        case (.closing, .message), (.closing, .ping), (.failing, .ping): return .none
        case (.open, .ping(let payload)): return .send(.pong, payload)
        case (_, .pong(let payload)): return ponged(payload, at: now)
        case (.open, .close(let code, let reason)):
            close(.closed(code ?? .noStatusReceived, reason: reason, byPeer: true), flushBy: now + clocks.closeTimeout)
            return .finish(last: WebSocketClosePayload(code).bytes)
        case (.closing(_, let frame), .close(let code, let reason)):
            close(.closed(code ?? .noStatusReceived, reason: reason, byPeer: false), flushBy: now + clocks.closeTimeout)
            return .finish(last: frame)
        case (.failing, .close(let code, let reason)):
            close(.closed(code ?? .noStatusReceived, reason: reason, byPeer: true))
            return .abort
        }
    }

    package mutating func violated(_ violation: WebSocketViolation, at now: Instant) -> Action {
        switch state {
        case .open:
            close(.violated(violation), flushBy: now + clocks.closeTimeout)
            return .finish(last: WebSocketClosePayload(violation.closeCode, reason: violation.reason).bytes)
        case .closing(_, let frame):
            close(.violated(violation), flushBy: now + clocks.closeTimeout)
            return .finish(last: frame)
        case .failing(let error, _):
            close(.broken(error))
            return .abort
        case .closed: return .none
        }
    }

    /// A frame could not be sent. The peer may have sent the reason before, so reading continues for at most
    /// `closeTimeout`.
    package mutating func writeFailed(_ error: CurlewError, at now: Instant) -> Action {
        switch state {
        case .open:
            state = .failing(error, deadline: now + clocks.closeTimeout)
            return .none
        // A closing WebSocket keeps its deadline.
        case .closing, .failing, .closed: return .none
        }
    }

    /// The connection has ended; `error` is `nil` after an orderly end.
    package mutating func wireEnded(_ error: CurlewError?) -> Action {
        switch state {
        case .open: close(error.map(WebSocketEnding.broken) ?? .cut)
        case .closing: close(.unanswered)
        case .failing(let failure, _): close(.broken(failure))
        case .closed: return .none
        }
        return .abort
    }

    // MARK: This side

    package mutating func closeAsked(_ code: WebSocketCloseCode, reason: String?, at now: Instant) -> Action {
        switch state {
        case .open:
            let frame = WebSocketClosePayload(code, reason: reason ?? "").bytes
            state = .closing(deadline: now + clocks.closeTimeout, frame: frame)
            return .send(.close, frame)
        case .closing, .failing, .closed: return .none
        }
    }

    /// Nobody holds the WebSocket, so nobody would learn of the peer's answer, and it is not awaited. Queued frames and
    /// the close frame are sent if the peer takes them within `dropTimeout`.
    ///
    /// The code is 1000, as if a reader had left its loop: the optimizer decides whether the end of a loop releases the
    /// reader or the last handle first.
    package mutating func dropped(at now: Instant) -> Action {
        let soon = now + min(clocks.closeTimeout, Clocks.dropTimeout)
        switch state {
        case .open:
            close(.unanswered, flushBy: soon)
            return .finish(last: WebSocketClosePayload(.normalClosure).bytes)
        case .closing(_, let frame):
            close(.unanswered, flushBy: soon)
            return .finish(last: frame)
        case .failing(let error, _):
            close(.broken(error))
            return .abort
        case .closed(let ending, let flushBy):
            state = .closed(ending, flushBy: flushBy.map { min($0, soon) })
            return .none
        }
    }

    /// Returns the payload of the ping to send, and the ID that its round trip will have; `nil` if no frame may be
    /// sent. `position` is the number of bytes that were queued before.
    package mutating func pingAsked(at now: Instant, behind position: Int = 0) -> (id: PingID, payload: [UInt8])? {
        switch state {
        case .open: ping(isHeartbeat: false, at: now, behind: position)
        case .closing, .failing, .closed: nil
        }
    }

    /// This side has paused reading, because the messages read so far were not consumed.
    package mutating func readingPaused() {
        readsNow = false
        for index in pings.indices { pings[index].deadline = nil }
    }

    package mutating func readingResumed(at now: Instant) {
        guard !readsNow else { return }
        readsNow = true
        for index in pings.indices { pings[index].deadline = now + clocks.pongTimeout }
    }

    /// The connection has accepted queued bytes that begin at `position`. The deadline restarts for each ping that is
    /// among these bytes or queued after them, because the peer cannot answer a ping before it arrives. Pings that were
    /// sent earlier keep their deadlines.
    package mutating func wrote(from position: Int, at now: Instant) {
        guard readsNow else { return }
        for index in pings.indices where pings[index].position >= position {
            pings[index].deadline = now + clocks.pongTimeout
        }
    }

    package mutating func timePassed(at now: Instant, behind position: Int = 0) -> Action {
        switch state {
        case .open:
            if let deadline = pings.lazy.compactMap(\.deadline).min(), deadline <= now {
                close(.silent(after: clocks.pongTimeout))
                return .abort
            }
            guard let due = nextHeartbeat, due <= now else { return .none }
            // Only one automatic ping is pending: its pong schedules the next one.
            nextHeartbeat = nil
            return .send(.ping, ping(isHeartbeat: true, at: now, behind: position).payload)
        case .closing(let deadline, _):
            guard deadline <= now else { return .none }
            close(.unanswered)
            return .abort
        case .failing(let error, let deadline):
            guard deadline <= now else { return .none }
            close(.broken(error))
            return .abort
        case .closed(let ending, let flushBy):
            guard let flushBy, flushBy <= now else { return .none }
            state = .closed(ending, flushBy: nil)
            return .abort
        }
    }

    // MARK: Steps

    private mutating func close(_ ending: WebSocketEnding, flushBy: Instant? = nil) {
        state = .closed(ending, flushBy: flushBy)
        pings = []
        nextHeartbeat = nil
    }

    private mutating func ping(
        isHeartbeat: Bool, at now: Instant, behind position: Int
    ) -> (id: PingID, payload: [UInt8]) {
        lastPing += 1
        pings.append(
            Ping(
                id: lastPing, sent: now, position: position, deadline: readsNow ? now + clocks.pongTimeout : nil,
                isHeartbeat: isHeartbeat))
        return (lastPing, Self.payload(of: lastPing))
    }

    /// A pong answers its ping and all earlier ones. An unsolicited pong is ignored (RFC 6455, 5.5.3).
    private mutating func ponged(_ payload: [UInt8], at now: Instant) -> Action {
        guard let index = pings.firstIndex(where: { Self.payload(of: $0.id) == payload }) else { return .none }
        let answered = pings[...index]
        if let interval = clocks.pingInterval, isOpen, answered.contains(where: \.isHeartbeat) {
            nextHeartbeat = now + interval
        }
        let trips = answered.map { RoundTrip(ping: $0.id, duration: now - $0.sent) }
        pings.removeFirst(index + 1)
        return .complete(trips)
    }

    private static func payload(of id: PingID) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: id >> UInt64(56 - 8 * $0)) }
    }
}
