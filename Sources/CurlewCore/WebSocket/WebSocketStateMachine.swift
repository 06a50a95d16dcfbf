/// A WebSocket after its handshake, as decisions only.
///
/// Methods are named for what has happened and answer what to do about it. Time is passed in.
///
///     open ── closeAsked ─▶ closing ── received(close) ─▶ closed
///       ├── writeFailed ─▶ failing                            (what the peer has sent is still read)
///       └── received(close), violated, wireEnded, timePassed ─▶ closed      (from closing and failing, too)
package struct WebSocketStateMachine: Sendable {
    package typealias Instant = ContinuousClock.Instant
    package typealias PingID = UInt64

    package struct Clocks: Sendable, Hashable {
        /// How long after a pong the next ping goes out by itself; nil for none.
        package var pingInterval: Duration?
        /// How long a pong may take.
        package var pongTimeout: Duration
        /// How long the peer's close frame may take.
        package var closeTimeout: Duration

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
        /// Pings were answered; those of the heartbeat are among them.
        case complete([RoundTrip])
        /// The last frame, if there is one, goes out behind what waits already; then the connection is closed.
        case finish(last: [UInt8]?)
        /// The connection is closed at once.
        case abort
    }

    private enum State {
        case open
        case closing(deadline: Instant)
        /// Nothing can be sent any more; the peer may have said why.
        case failing(CurlewError, deadline: Instant)
        case closed(WebSocketEnding)
    }

    private struct Ping {
        let id: PingID
        let sent: Instant
        /// So many bytes were put in before it.
        let position: Int
        /// nil while this side does not read: the pong may be there already.
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
        case .closed(let ending): ending
        }
    }

    /// Why nothing can be sent any more while it is not known yet how the WebSocket ends.
    package var sendFailure: CurlewError? {
        if case .failing(let error, _) = state { error } else { nil }
    }

    /// When `timePassed` is to be called next.
    package var nextDeadline: Instant? {
        switch state {
        case .open: [nextHeartbeat, pings.lazy.compactMap(\.deadline).min()].compactMap(\.self).min()
        case .closing(let deadline), .failing(_, let deadline): deadline
        case .closed: nil
        }
    }

    // MARK: The peer

    package mutating func received(_ event: WebSocketEvent, at now: Instant) -> Action {
        switch (state, event) {
        case (.closed, _): return .none
        case (.open, .message(let message)), (.failing, .message(let message)): return .deliver(message)
        // The user has closed: nothing reads these any more.
        case (.closing, .message), (.closing, .ping), (.failing, .ping): return .none
        case (.open, .ping(let payload)): return .send(.pong, payload)
        case (_, .pong(let payload)): return ponged(payload, at: now)
        case (.open, .close(let code, let reason)):
            close(.closed(code ?? .noStatusReceived, reason: reason, byPeer: true))
            return .finish(last: WebSocketClosePayload(code).bytes)
        case (.closing, .close(let code, let reason)):
            close(.closed(code ?? .noStatusReceived, reason: reason, byPeer: false))
            return .finish(last: nil)
        case (.failing, .close(let code, let reason)):
            close(.closed(code ?? .noStatusReceived, reason: reason, byPeer: true))
            return .abort
        }
    }

    package mutating func violated(_ violation: WebSocketViolation) -> Action {
        switch state {
        case .open:
            close(.violated(violation))
            return .finish(last: WebSocketClosePayload(violation.closeCode, reason: violation.reason).bytes)
        case .closing:
            close(.violated(violation))
            return .finish(last: nil)
        case .failing(let error, _):
            close(.broken(error))
            return .abort
        case .closed: return .none
        }
    }

    /// A frame could not be sent. What the peer has sent before may say why, so it is read for as long as a closing may take.
    package mutating func writeFailed(_ error: CurlewError, at now: Instant) -> Action {
        switch state {
        case .open:
            state = .failing(error, deadline: now + clocks.closeTimeout)
            return .none
        // The deadline of the closing holds already.
        case .closing, .failing, .closed: return .none
        }
    }

    /// The connection has ended; nil is an end without an error.
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
            state = .closing(deadline: now + clocks.closeTimeout)
            return .send(.close, WebSocketClosePayload(code, reason: reason ?? "").bytes)
        case .closing, .failing, .closed: return .none
        }
    }

    /// The frame to send, and what its round trip will be known by; nil where no frame may be sent any more. `position` counts the
    /// bytes that were put in before.
    package mutating func pingAsked(at now: Instant, behind position: Int = 0) -> (id: PingID, payload: [UInt8])? {
        switch state {
        case .open: ping(isHeartbeat: false, at: now, behind: position)
        case .closing, .failing, .closed: nil
        }
    }

    /// This side has stopped reading, because what it has read was not taken.
    package mutating func readingPaused() {
        readsNow = false
        for index in pings.indices { pings[index].deadline = nil }
    }

    package mutating func readingResumed(at now: Instant) {
        guard !readsNow else { return }
        readsNow = true
        for index in pings.indices { pings[index].deadline = now + clocks.pongTimeout }
    }

    /// The connection has taken bytes, the first of which was put in behind `position` others. A ping that was among them or is still
    /// behind them has its whole time from now on: its peer cannot answer what it has not got. One that went out before gets no more.
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
            // One at a time: the next one is set by the pong.
            nextHeartbeat = nil
            return .send(.ping, ping(isHeartbeat: true, at: now, behind: position).payload)
        case .closing(let deadline):
            guard deadline <= now else { return .none }
            close(.unanswered)
            return .abort
        case .failing(let error, let deadline):
            guard deadline <= now else { return .none }
            close(.broken(error))
            return .abort
        case .closed: return .none
        }
    }

    // MARK: Steps

    private mutating func close(_ ending: WebSocketEnding) {
        state = .closed(ending)
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

    /// A pong answers its ping and those before it (RFC 6455, 5.5.3). One that was not asked for is ignored (5.5.3).
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
