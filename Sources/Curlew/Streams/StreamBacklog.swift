internal import CurlewCore
internal import CurlewLocks

/// Counts the unread bytes of a sequence and tells whether there is room for more. While there is none, the next chunk
/// is not read from the network: a slow reader pauses the sender.
package final class StreamBacklog: Sendable {
    private struct State: Sendable {
        /// The costs of the unread chunks, oldest first, beginning at `next`.
        var costs: [Int] = []
        var next = 0
        var cost = 0
        var isLeft = false
        var waiter: (@Sendable () -> Void)?

        mutating func waiterIfThereIsRoom(below limit: Int) -> (@Sendable () -> Void)? {
            guard isLeft || cost < limit else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Lock(State())
    private let limit: Int

    /// `limit` is the number of unread bytes a sequence may hold.
    package init(limit: Int = 512 * 1024) { self.limit = limit }

    /// Counts a chunk of `bytes`. Call it before the chunk is put into the sequence.
    func add(_ bytes: Int) {
        state.withLock { state in
            guard !state.isLeft else { return }
            // A value costs more memory than its bytes: a server that sends single bytes must reach the limit too.
            state.costs.append(bytes + 64)
            state.cost += bytes + 64
        }
    }

    /// Calls back as soon as there is room for another chunk. Only one caller may wait at a time.
    func whenThereIsRoom(_ proceed: @escaping @Sendable () -> Void) {
        let ready = state.withLock { state in
            state.waiter = proceed
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// Counts the oldest value as read.
    package func taken() {
        let ready = state.withLock { state -> (@Sendable () -> Void)? in
            // The completion follows all chunks and has no cost.
            guard state.next < state.costs.count else { return nil }
            state.cost -= state.costs[state.next]
            state.next += 1
            // Drops the entries of read chunks, even if the reader never catches up.
            if state.next == state.costs.count || state.next > 1000 {
                state.costs.removeFirst(state.next)
                state.next = 0
            }
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// Ends reading: later chunks are dropped, and there is always room.
    package func leave() {
        let ready = state.withLock { state in
            state.isLeft = true
            state.costs = []
            state.next = 0
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// Ends reading when the last copy of a sequence and its iterators is released.
    final class Reader: Sendable {
        let backlog: StreamBacklog

        init(_ backlog: StreamBacklog) { self.backlog = backlog }

        deinit { backlog.leave() }
    }
}
