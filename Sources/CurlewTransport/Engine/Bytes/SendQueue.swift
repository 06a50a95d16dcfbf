internal import CurlewCore
internal import CurlewLocks

/// How much a connection has to send: what its user, on any thread, and the loop both know.
final class SendQueue: Sendable {
    private struct State {
        var queued = 0
        var failure: CurlewError?
        var lastWait = 0
    }

    private let state = Lock(State())
    private let limit: Int

    /// With 0 a sender waits until everything is sent.
    init(limit: Int) { self.limit = max(0, limit) }

    /// Notes bytes that are to be sent; true where the sender has to wait. Throws what ended the sending.
    func add(_ count: Int) throws(CurlewError) -> Bool {
        let (failure, isFull) = state.withLock { state -> (CurlewError?, Bool) in
            if let failure = state.failure { return (failure, false) }
            state.queued += count
            return (nil, state.queued > limit)
        }
        if let failure { throw failure }
        return isFull
    }

    /// Notes bytes that were sent.
    func remove(_ count: Int) { state.withLock { $0.queued -= count } }

    var hasRoom: Bool { state.withLock { $0.queued <= limit } }

    /// Nothing can be sent any more. The first reason stays.
    func fail(_ error: CurlewError) {
        state.withLock { state in
            if state.failure == nil { state.failure = error }
        }
    }

    /// A number for a wait: the next is always larger.
    func nextWait() -> Int {
        state.withLock { state in
            state.lastWait += 1
            return state.lastWait
        }
    }
}
