internal import CurlewCore
internal import CurlewLocks
internal import Glibc

/// How much a connection has to send: what its user, on any thread, and the loop both know.
final class SendQueue: Sendable {
    private struct State {
        var queued = 0
        var failure: CurlewError?
        /// The kernel has told of a broken connection once, and now shows it as one that has ended.
        var isBroken = false
        var lastWait = 0
    }

    private let state = Lock(State())
    private let limit: Int
    /// The socket, where its bytes are the peer's: without TLS libcurl would hand them on as they are.
    private let socket: Int32?

    /// With 0 a sender waits until everything is sent.
    init(limit: Int, socket: Int32?) { (self.limit, self.socket) = (max(0, limit), socket) }

    /// Sends what the kernel takes, where nothing is queued. A socket is closed after `fail` alone, so this one is open. Errors are
    /// left to the loop, which asks libcurl.
    func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let socket else { return 0 }
        return state.withLock { state in
            guard state.queued == 0, state.failure == nil, !state.isBroken else { return 0 }
            let count = send(socket, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            if count < 0 { state.isBroken = errno != EAGAIN && errno != EINTR }
            return max(0, count)
        }
    }

    /// Whether an end that is read now is that of a connection that broke while it was written to.
    var isBroken: Bool { state.withLock { $0.isBroken } }

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
