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
        let head: ResponseHead
        let agreement: WebSocketHandshake.Agreement
    }

    struct State: Sendable {
        var machine: WebSocketStateMachine?
        var wire: (any ByteConnection)?
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
    let outbox: WebSocketOutbox
    /// Resolved when it is open, or when it is known that it will not be.
    let opening = OneShot<Result<Opening, CurlewError>>()
    /// Resolved when everything is over.
    let ended = OneShot<Void>()
    let state = Lock(State())

    init(options: WebSocketOptions) {
        self.options = options
        inbox = WebSocketInbox(limit: options.maximumMessageSize)
        outbox = WebSocketOutbox(limit: options.sendBuffer)
    }

    // MARK: What users ask

    /// Whether it is or was open.
    var hasOpened: Bool { if case .success? = opening.value { true } else { false } }

    var ending: WebSocketEnding? { state.withLock { $0.machine?.ending } }

    /// Why a frame cannot be sent.
    var refusal: CurlewError {
        let (failure, ending) = state.withLock { ($0.failure, $0.machine?.ending) }
        if let failure { return failure }
        var error = ending?.error ?? .webSocketClosed(ending?.closeCode ?? .normalClosure, reason: ending?.closeReason)
        error.phase = .send
        return error
    }

    func ping() async throws(CurlewError) -> Duration {
        let (ping, alarm) = state.withLock { state in
            let ping = state.machine?.pingAsked(at: .now).map { asked in
                let waiter = OneShot<PingResult>()
                state.pings[asked.id] = waiter
                return (asked.payload, waiter)
            }
            return (ping, state.earlierDeadline())
        }
        alarm?.resolve(())
        guard let (payload, waiter) = ping else { throw refusal }
        outbox.control(.ping, payload)
        guard let result = await waiter.wait() else {
            throw CurlewError(.cancelled, phase: .receive, reason: "the task that waited for a pong was cancelled")
        }
        return try result.get()
    }

    /// Begins the closing handshake. False where there is no connection to close.
    func beginClosing(_ code: WebSocketCloseCode, reason: String?) -> Bool {
        let (action, alarm) = state.withLock { state in
            (state.machine?.closeAsked(code, reason: reason, at: .now), state.earlierDeadline())
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
        let pings = state.withLock { state in
            if state.failure == nil, state.machine == nil { state.failure = error ?? .explicitlyCancelled }
            return state.takePings()
        }
        opening.resolve(.failure(error ?? .explicitlyCancelled))
        inbox.finish(throwing: error)
        outbox.abort()
        for ping in pings { ping.resolve(.failure(refusal)) }
        ended.resolve(())
    }

    /// The connection goes at once, with `error`.
    func stop(with error: CurlewError) {
        let action = state.withLock { state in
            if state.failure == nil { state.failure = error }
            return state.machine?.wireEnded(error)
        }
        if let action { perform(action) }
    }

    // MARK: Actions

    /// False where no message can be taken for now.
    @discardableResult
    func perform(_ action: WebSocketStateMachine.Action) -> Bool {
        switch action {
        case .none: break
        case .deliver(let message): return inbox.put(message)
        case .send(let opcode, let payload): outbox.control(opcode, payload)
        case .complete(let trips):
            for trip in trips {
                let waiter = state.withLock { $0.pings.removeValue(forKey: trip.ping) }
                waiter?.resolve(.success(trip.duration))
            }
            // The next ping of the heartbeat may be due before what the clock sleeps for.
            state.withLock { $0.earlierDeadline() }?.resolve(())
        case .finish(let last):
            outbox.finish(last: last)
            tellEnding()
        case .abort:
            outbox.abort()
            state.withLock { $0.wire }?.close()
            tellEnding()
        }
        return true
    }

    private func tellEnding() {
        let (ending, pings, alarm) = state.withLock { state in
            (state.machine?.ending, state.takePings(), exchange(&state.alarm, with: nil))
        }
        inbox.finish(throwing: ending?.error)
        let error = refusal
        for ping in pings { ping.resolve(.failure(error)) }
        alarm?.resolve(())
    }
}

extension WebSocketLink.State {
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
