internal import CurlewCore
internal import CurlewLocks
internal import Glibc

/// The number of bytes that a connection has to send, shared by its user, on any thread, and the loop.
final class SendQueue: Sendable {
    private struct State {
        var queued = 0
        var failure: CurlewError?
        /// A write found the connection broken. The kernel reports that once; a read then finds an ordinary end.
        var isBroken = false
        var lastWait = 0
    }

    private let state = Lock(State())
    private let limit: Int
    /// The socket, if it carries the peer's bytes as they are; `nil` over TLS, which only libcurl can write.
    private let socket: Int32?

    /// If `limit` is 0, a sender waits until everything is sent.
    init(limit: Int, socket: Int32?) { (self.limit, self.socket) = (max(0, limit), socket) }

    /// Sends the bytes that the kernel accepts, if nothing is queued. The socket is open, because it is closed only
    /// after `fail`. Errors are left to the loop, which gets them from libcurl.
    func sendNow(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let socket else { return 0 }
        return state.withLock { state in
            guard state.queued == 0, state.failure == nil, !state.isBroken else { return 0 }
            let count = send(socket, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            if count < 0 { state.isBroken = errno != EAGAIN && errno != EINTR }
            return max(0, count)
        }
    }

    /// Whether an end that a read finds is that of a connection that broke during a write.
    var isBroken: Bool { state.withLock { $0.isBroken } }

    /// Adds bytes to be sent. Returns true if the sender has to wait; throws the reason if sending has ended.
    func add(_ count: Int) throws(CurlewError) -> Bool {
        let (failure, isFull) = state.withLock { state -> (CurlewError?, Bool) in
            if let failure = state.failure { return (failure, false) }
            state.queued += count
            return (nil, state.queued > limit)
        }
        if let failure { throw failure }
        return isFull
    }

    /// Subtracts bytes that were sent.
    func remove(_ count: Int) { state.withLock { $0.queued -= count } }

    var hasRoom: Bool { state.withLock { $0.queued <= limit } }

    /// Ends sending. The first reason is kept.
    func fail(_ error: CurlewError) {
        state.withLock { state in
            if state.failure == nil { state.failure = error }
        }
    }

    /// A number for a wait, larger than all before it.
    func nextWait() -> Int {
        state.withLock { state in
            state.lastWait += 1
            return state.lastWait
        }
    }
}
