internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The state that a WebSocket and its connection share: received messages, outgoing frames, and the state machine
/// between them.
///
///     the user's tasks                 the link                 child tasks of the run
///
///     messages  ◀───────────────────── inbox   ◀────────────┐
///     send, opened() ─── wait for ───▶ opening              │
///     ping, close, drop ─────────────▶ machine ◀─ events ── reader ◀─┐
///                                         │    ◀─ deadlines ─ clock  wire
///     send ──────────────────────────▶ outbox ────────────▶ writer ──▶┘
///     onOpen ◀───────────────────────────────────────────── hook
///
/// - Inbox and opening last as long as the WebSocket. Machine, outbox, wire and child tasks belong to one connection.
/// - The machine decides, and `carryOut` performs its actions. The link's lock protects it; `inbox` and `outbox` have
///   a lock each. The outbox's lock may be taken while the link's is held, never the other way round.
/// - Every wait is a `OneShot`, which is resolved without these locks.
/// - The last frame ends the writer, and the writer's end ends the connection.
///
/// The ends. None of those that the user's side calls is followed by another connection:
///
/// | end | called by | still sent |
/// |---|---|---|
/// | `beginClosing` | `close`, and a reader that leaves | all frames and the close frame; the peer's is awaited |
/// | `drop` | the `deinit` of the user's handle | the same, within `dropTimeout`; no answer is awaited |
/// | `stop(with:)` | cancelling the request, and a hook that throws | nothing |
/// | `endForGood(with:)` | the end of the run, when no connection is open | nothing |
///
/// The machine ends a connection by an action. Another connection may follow, if the reconnection policy wants one and
/// the user's side has not ended the WebSocket:
///
/// | action | because | still sent |
/// |---|---|---|
/// | `.finish` | the peer has closed or violated the protocol, or `drop` | all frames and the close frame |
/// | `.abort` | the connection is lost or stopped, or a deadline has passed | nothing |
///
/// The connection's side is in `WebSocketLink+Run.swift`, the user's in the methods of `WebSocketRequest`.
final class WebSocketLink: Sendable {
    typealias PingResult = Result<Duration, CurlewError>

    /// An open connection.
    struct Connection: Sendable {
        /// The URL that errors name.
        let url: URL
        let head: ResponseHead
        let agreement: WebSocketHandshake.Agreement
        let outbox: WebSocketOutbox
    }

    typealias Opening = OneShot<Result<Connection, CurlewError>>

    struct State: Sendable {
        // The WebSocket, over all connections.

        /// Resolved when the WebSocket is open, or when it is known that it will not be. Replaced after the end of a
        /// connection that another may follow.
        var opening = Opening()
        /// `nil` for a WebSocket that does not reconnect.
        var reconnection: Reconnection?
        /// Whether the user's URL has the scheme `ws` or `wss`. The request is sent with `http` or `https` instead.
        var namesWebSocketScheme = false
        /// Whether the user has closed the WebSocket. No other connection follows.
        var isClosing = false
        /// The error that ended the WebSocket: it could not be opened, or was stopped. No other connection follows.
        var failure: CurlewError?

        // The current connection, and what errors name of the last one.

        /// The state machine of the current or last connection; `nil` before the first, and between two connections.
        var machine: WebSocketStateMachine?
        var wire: (any ByteConnection)?
        var pings: [WebSocketStateMachine.PingID: OneShot<PingResult>] = [:]
        var clock = Clock()
        /// The current or last connection.
        var lastConnection: Connection?
        /// The end of the last connection, if another one was to follow.
        var lastEnding: WebSocketEnding?
    }

    /// The sleep of the task that watches the deadlines of a connection.
    struct Clock: Sendable {
        /// When the task will wake. `nil` if there is no deadline.
        private var deadline: WebSocketStateMachine.Instant?
        /// Wakes the task, for an earlier deadline or the end.
        private var alarm: OneShot<Void>?

        /// Begins a sleep, and returns what wakes the task.
        mutating func sleep(until deadline: WebSocketStateMachine.Instant?) -> OneShot<Void> {
            let alarm = OneShot<Void>()
            (self.deadline, self.alarm) = (deadline, alarm)
            return alarm
        }

        /// Removes and returns the alarm, if the task sleeps past `next`.
        mutating func removeAlarm(before next: WebSocketStateMachine.Instant) -> OneShot<Void>? {
            guard deadline.map({ next < $0 }) ?? true else { return nil }
            return removeAlarm()
        }

        mutating func removeAlarm() -> OneShot<Void>? { exchange(&alarm, with: nil) }
    }

    let options: WebSocketOptions
    let inbox: WebSocketInbox
    /// Resolved when everything has ended.
    let ended = OneShot<Void>()
    let state = Lock(State())

    init(options: WebSocketOptions) {
        self.options = options
        inbox = WebSocketInbox(limit: options.maximumMessageSize)
    }

    // MARK: Questions

    /// Returns the URL with the scheme that the user wrote.
    func asGiven(_ url: URL) -> URL {
        guard state.withLock({ $0.namesWebSocketScheme }) else { return url }
        switch url.scheme?.lowercased() {
        case "http": return url.with(scheme: "ws") ?? url
        case "https": return url.with(scheme: "wss") ?? url
        default: return url
        }
    }

    /// The opening that senders wait for.
    var opening: Opening { state.withLock { $0.opening } }

    /// Whether the current or last attempt has opened a connection.
    var hasConnection: Bool { state.withLock { $0.machine != nil } }

    /// Whether the user has begun to close the WebSocket.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// The end of the WebSocket; `nil` before it, and if another connection follows.
    var ending: WebSocketEnding? {
        state.withLock { $0.machine?.ending ?? ($0.failure == nil ? nil : $0.lastEnding) }
    }

    /// The error for a frame that cannot be sent.
    var refusal: CurlewError {
        let (failure, ending, isClosing, url) = state.withLock {
            (
                $0.failure ?? $0.machine?.sendFailure, $0.machine?.ending ?? $0.lastEnding, $0.isClosing,
                $0.lastConnection?.url
            )
        }
        if let failure { return failure }
        let code = ending?.closeCode ?? (isClosing ? .normalClosure : .abnormalClosure)
        var error =
            ending?.error
            ?? .webSocketClosed(code, reason: ending?.closeReason, byPeer: ending?.isByPeer ?? !isClosing)
        error.phase = .send
        if error.url == nil { error.url = url }
        return error
    }

    // MARK: The user's side

    func ping() async throws(CurlewError) -> Duration {
        let (ping, outbox, alarm) = state.withLock { state in
            // Read under the lock, so that it is a position in this connection's outbox.
            let position = state.outbox?.bytesQueued ?? 0
            let ping = state.machine?.pingAsked(at: .now, behind: position).map { asked in
                let waiter = OneShot<PingResult>()
                state.pings[asked.id] = waiter
                return (asked.payload, waiter)
            }
            return (ping, state.outbox, state.earlierDeadline())
        }
        alarm?.resolve(())
        guard let (payload, waiter) = ping else { throw refusal }
        outbox?.control(.ping, payload)
        guard let result = await waiter.wait() else {
            throw CurlewError(.cancelled, phase: .receive, reason: "the task that waited for a pong was cancelled")
        }
        return try result.get()
    }

    /// Begins the closing handshake. Returns `false` if there is no connection to close.
    func beginClosing(_ code: WebSocketCloseCode, reason: String?) -> Bool {
        close { $0.machine?.closeAsked(code, reason: reason, at: .now) }
    }

    /// Ends the connection without waiting for the peer's answer, because nobody holds the WebSocket. Returns `false`
    /// if there is no connection.
    func drop() -> Bool { close { $0.machine?.dropped(at: .now) } }

    private func close(_ decide: (inout State) -> WebSocketStateMachine.Action?) -> Bool {
        let (action, alarm) = state.withLock { state in
            state.isClosing = true
            return (decide(&state), state.earlierDeadline())
        }
        alarm?.resolve(())
        guard let action else { return false }
        carryOut(action)
        // The state machine drops messages. The connection's reader must not wait for room, or it would not reach
        // the peer's close frame.
        inbox.stopHolding()
        return true
    }

    // MARK: Ends

    /// Ends the user's reader, senders and pings. Call it when no connection is open and none will follow.
    func endForGood(with error: CurlewError?) {
        let (pings, opening, outbox, isClosed) = state.withLock { state in
            if state.failure == nil, state.machine == nil { state.failure = error ?? .cancelled }
            // If the user has closed the WebSocket between two connections, the user's reader gets an ordinary end.
            let isClosed = state.isClosing && state.lastConnection != nil
            return (state.removePings(), state.opening, state.outbox, isClosed)
        }
        opening.resolve(.failure(error ?? refusal))
        inbox.finish(throwing: isClosed ? nil : error)
        outbox?.abort()
        for ping in pings { ping.resolve(.failure(refusal)) }
        ended.resolve(())
    }

    /// Ends the connection at once with `error`. No other connection follows.
    func stop(with error: CurlewError) {
        let (action, wire) = state.withLock { state in
            if state.failure == nil { state.failure = error }
            return (state.machine?.wireEnded(error), state.wire)
        }
        if let action { carryOut(action) }
        wire?.close()
    }

    // MARK: Actions

    /// Performs an action. Returns false if there is no room for another message.
    @discardableResult
    func carryOut(_ action: WebSocketStateMachine.Action) -> Bool {
        switch action {
        case .none: break
        case .deliver(let message): return inbox.put(message)
        case .send(let opcode, let payload): state.withLock { $0.outbox }?.control(opcode, payload)
        case .complete(let trips):
            for trip in trips {
                let waiter = state.withLock { $0.pings.removeValue(forKey: trip.ping) }
                waiter?.resolve(.success(trip.duration))
            }
            // The next automatic ping may be due before the clock's current deadline.
            state.withLock { $0.earlierDeadline() }?.resolve(())
        case .finish(let last):
            // The opening is renewed first: senders that `finish` resumes look for the next connection.
            state.withLock { $0.renewOpening() }?.finish(last: last)
            notifyEnding()
        case .abort:
            state.withLock { $0.renewOpening() }?.abort()
            state.withLock { $0.wire }?.close()
            notifyEnding()
        }
        return true
    }

    private func notifyEnding() {
        let (ending, pings, alarm, isLast, url) = state.withLock { state in
            (
                state.machine?.ending, state.removePings(), state.clock.removeAlarm(), !state.mayReconnect,
                state.lastConnection?.url
            )
        }
        if isLast {
            var error = ending?.error
            if error != nil, error?.url == nil { error?.url = url }
            inbox.finish(throwing: error)
        } else {
            inbox.interrupt()
        }
        let error = refusal
        for ping in pings { ping.resolve(.failure(error)) }
        alarm?.resolve(())
    }
}

extension WebSocketLink.State {
    var outbox: WebSocketOutbox? { lastConnection?.outbox }

    /// Whether another connection may follow this one.
    fileprivate var mayReconnect: Bool { reconnection != nil && !isClosing && failure == nil }

    /// Lets senders wait for the next connection, if one may follow. Returns the outbox of the ended one.
    @discardableResult
    mutating func renewOpening() -> WebSocketOutbox? {
        if mayReconnect, opening.value != nil { opening = WebSocketLink.Opening() }
        return outbox
    }

    fileprivate mutating func removePings() -> [OneShot<WebSocketLink.PingResult>] {
        defer { pings = [:] }
        return Array(pings.values)
    }

    /// Removes and returns the clock's alarm, if the clock sleeps past the next deadline.
    mutating func earlierDeadline() -> OneShot<Void>? {
        machine?.nextDeadline.flatMap { clock.removeAlarm(before: $0) }
    }
}

extension WebSocketLink {
    /// Returns the pause before the WebSocket is opened again; `nil` if it is not. `failure` is the error of an attempt
    /// that opened no connection.
    func pauseBeforeReconnecting(after failure: CurlewError?, retryAfter: Duration?) -> Duration? {
        state.withLock { state in
            guard state.mayReconnect, var reconnection = state.reconnection else { return nil }
            var random = SystemRandom()
            let pause: Duration?
            if let ending = state.machine?.ending {
                pause = reconnection.connectionEnded(ending, at: .now, using: &random)
            } else if let failure {
                pause = reconnection.openingFailed(failure, retryAfter: retryAfter, using: &random)
            } else {
                pause = nil
            }
            state.reconnection = reconnection
            if pause != nil, let machine = exchange(&state.machine, with: nil) {
                state.lastEnding = machine.ending
            }
            return pause
        }
    }

    /// Whether another connection has followed this one, or may follow it. Its senders then wait for that one.
    func follows(_ connection: Connection) -> Bool {
        state.withLock { state in
            guard case .success(let current)? = state.opening.value else { return state.mayReconnect }
            return current.outbox !== connection.outbox
        }
    }

    /// Returns the connection for sends and pings, and waits until one is open. If a connection was lost and the policy
    /// lets sending fail meanwhile, it throws instead.
    func usableConnection() async throws(CurlewError) -> Connection {
        let (current, refuses) = state.withLock { state in
            let isLost = state.lastConnection != nil && state.opening.value == nil
            return (state.opening, isLost && state.reconnection?.policy.sending == .fails)
        }
        if refuses { throw refusal }
        return try await connection(of: current)
    }

    /// Waits for the connection of an opening.
    func connection(of opening: Opening) async throws(CurlewError) -> Connection {
        if let result = opening.value { return try result.get() }
        guard let result = await opening.wait() else {
            throw CurlewError(.cancelled, phase: .lifecycle, reason: "the waiting task was cancelled")
        }
        return try result.get()
    }
}

/// The connection that the hook of a WebSocket prepares, known to the tasks of the hook alone. Their sends and pings use
/// it before other callers may.
struct HookContext: Sendable {
    let link: WebSocketLink
    let connection: WebSocketLink.Connection

    @TaskLocal static var current: HookContext?
}
