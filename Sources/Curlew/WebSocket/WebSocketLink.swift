internal import CurlewCore
internal import CurlewFailures
internal import CurlewLocks
internal import Foundation

/// What a WebSocket and its connection share: messages that have come, frames that go out, and the state between them.
///
/// The connection's side is `WebSocketLink+Connection.swift`, the user's `WebSocketRequest`'s verbs.
final class WebSocketLink: Sendable {
    typealias PingResult = Result<Duration, CurlewError>

    /// The WebSocket is open.
    struct Opening: Sendable {
        /// As errors name it.
        let url: URL
        let head: ResponseHead
        let agreement: WebSocketHandshake.Agreement
        let outbox: WebSocketOutbox
    }

    typealias OpeningResult = OneShot<Result<Opening, CurlewError>>

    struct State: Sendable {
        /// That of the connection, also when it has ended; nil where there is none.
        var machine: WebSocketStateMachine?
        var wire: (any ByteConnection)?
        var outbox: WebSocketOutbox?
        /// Resolved when it is open, or when it is known that it will not be. Another one after a connection that may be
        /// followed by another.
        var opening = OpeningResult()
        var lastOpening: Opening?
        /// How the last connection ended, where another one was to follow.
        var lastEnding: WebSocketEnding?
        /// nil where one connection is all.
        var reconnection: Reconnection?
        /// Whether the user has named `ws` or `wss`, in whose place HTTP's schemes are sent.
        var namesWebSocketScheme = false
        /// The user has closed: no other connection follows.
        var isClosing = false
        var pings: [WebSocketStateMachine.PingID: OneShot<PingResult>] = [:]
        /// The clock sleeps until then.
        var armed: WebSocketStateMachine.Instant?
        /// Waited for by the clock: there is an earlier deadline.
        var alarm: OneShot<Void>?
        /// Why nothing more can be sent, where there was no connection or the user has cancelled.
        var failure: CurlewError?
    }

    let options: WebSocketOptions
    let inbox: WebSocketInbox
    /// Resolved when everything is over.
    let ended = OneShot<Void>()
    let state = Lock(State())

    init(options: WebSocketOptions) {
        self.options = options
        inbox = WebSocketInbox(limit: options.maximumMessageSize)
    }

    // MARK: What users ask

    /// The URL in the user's scheme.
    func asGiven(_ url: URL) -> URL {
        guard state.withLock({ $0.namesWebSocketScheme }) else { return url }
        switch url.scheme?.lowercased() {
        case "http": return url.with(scheme: "ws") ?? url
        case "https": return url.with(scheme: "wss") ?? url
        default: return url
        }
    }

    /// What verbs wait for.
    var opening: OpeningResult { state.withLock { $0.opening } }

    /// Whether the attempt that runs, or ran last, has led to an open connection.
    var hasConnection: Bool { state.withLock { $0.machine != nil } }

    /// Whether the user has begun to close it.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// nil while it has not ended, or another connection follows.
    var ending: WebSocketEnding? {
        state.withLock { $0.machine?.ending ?? ($0.failure == nil ? nil : $0.lastEnding) }
    }

    /// Why a frame cannot be sent.
    var refusal: CurlewError {
        let (failure, ending, isClosing, url) = state.withLock {
            (
                $0.failure ?? $0.machine?.sendFailure, $0.machine?.ending ?? $0.lastEnding, $0.isClosing,
                $0.lastOpening?.url
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

    func ping() async throws(CurlewError) -> Duration {
        let (ping, outbox, alarm) = state.withLock { state in
            // Under the lock, so that it is the outbox of this connection.
            let position = state.outbox?.bytesPutIn ?? 0
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

    /// Begins the closing handshake. False where there is no connection to close.
    func beginClosing(_ code: WebSocketCloseCode, reason: String?) -> Bool {
        let (action, alarm) = state.withLock { state in
            state.isClosing = true
            return (state.machine?.closeAsked(code, reason: reason, at: .now), state.earlierDeadline())
        }
        alarm?.resolve(())
        guard let action else { return false }
        perform(action)
        // Messages are dropped from here on, so that the peer's answer is seen.
        inbox.stopHolding()
        return true
    }

    // MARK: Ends

    /// Nothing is open and nothing will be.
    func over(_ error: CurlewError?) {
        let (pings, opening, outbox, isClosed) = state.withLock { state in
            if state.failure == nil, state.machine == nil { state.failure = error ?? .explicitlyCancelled }
            // Closed by the user while there was no connection: to its reader that is an ordinary end.
            let isClosed = state.isClosing && state.lastOpening != nil
            return (state.takePings(), state.opening, state.outbox, isClosed)
        }
        opening.resolve(.failure(error ?? refusal))
        inbox.finish(throwing: isClosed ? nil : error)
        outbox?.abort()
        for ping in pings { ping.resolve(.failure(refusal)) }
        ended.resolve(())
    }

    /// The connection goes at once, with `error`, and no other follows.
    func stop(with error: CurlewError) {
        let (action, wire) = state.withLock { state in
            if state.failure == nil { state.failure = error }
            return (state.machine?.wireEnded(error), state.wire)
        }
        if let action { perform(action) }
        wire?.close()
    }

    // MARK: Actions

    /// False where no message can be taken for now.
    @discardableResult
    func perform(_ action: WebSocketStateMachine.Action) -> Bool {
        switch action {
        case .none: break
        case .deliver(let message): return inbox.put(message)
        case .send(let opcode, let payload): state.withLock { $0.outbox }?.control(opcode, payload)
        case .complete(let trips):
            for trip in trips {
                let waiter = state.withLock { $0.pings.removeValue(forKey: trip.ping) }
                waiter?.resolve(.success(trip.duration))
            }
            // The next ping of the heartbeat may be due before what the clock sleeps for.
            state.withLock { $0.earlierDeadline() }?.resolve(())
        case .finish(let last):
            // Before those that wait in the outbox look for the next connection.
            renewOpening()?.finish(last: last)
            tellEnding()
        case .abort:
            let outbox = renewOpening()
            outbox?.abort()
            state.withLock { $0.wire }?.close()
            tellEnding()
        }
        return true
    }

    /// From now on verbs wait for the next connection, where there may be one. Gives the outbox of the last one.
    private func renewOpening() -> WebSocketOutbox? {
        state.withLock { state in
            state.renewOpening()
            return state.outbox
        }
    }

    private func tellEnding() {
        let (ending, pings, alarm, isLast, url) = state.withLock { state in
            (
                state.machine?.ending, state.takePings(), exchange(&state.alarm, with: nil), !state.mayReconnect,
                state.lastOpening?.url
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
    /// Whether another connection may follow this one.
    var mayReconnect: Bool { reconnection != nil && !isClosing && failure == nil }

    /// From now on verbs wait for the next connection, where there may be one.
    mutating func renewOpening() {
        if mayReconnect, opening.value != nil { opening = WebSocketLink.OpeningResult() }
    }

    mutating func takePings() -> [OneShot<WebSocketLink.PingResult>] {
        defer { pings = [:] }
        return Array(pings.values)
    }

    /// What wakes the clock, where it sleeps for too long.
    mutating func earlierDeadline() -> OneShot<Void>? {
        guard let deadline = machine?.nextDeadline, armed.map({ deadline < $0 }) ?? true else { return nil }
        return exchange(&alarm, with: nil)
    }
}
