internal import CurlewCore
internal import CurlewLocks

/// Counts what a sequence holds unread, and tells whether there is room for more. A chunk that finds none waits, and
/// until then the next one is not read: a slow reader stops the sender.
package final class StreamBacklog: Sendable {
    private struct State: Sendable {
        /// Of each chunk that was not taken, oldest first, from `next` on.
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

    /// `limit`: bytes that are held unread, for each sequence.
    package init(limit: Int = 512 * 1024) { self.limit = limit }

    /// Before a chunk of so many bytes is put into the sequence.
    func add(_ bytes: Int) {
        state.withLock { state in
            guard !state.isLeft else { return }
            // What a value costs beside its bytes: a server that sends single bytes must reach the limit.
            state.costs.append(bytes + 64)
            state.cost += bytes + 64
        }
    }

    /// Calls back as soon as another chunk may come. One at a time waits.
    func whenThereIsRoom(_ proceed: @escaping @Sendable () -> Void) {
        let ready = state.withLock { state in
            state.waiter = proceed
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// The reader has taken the oldest value.
    package func taken() {
        let ready = state.withLock { state -> (@Sendable () -> Void)? in
            // The completion comes after all chunks, and costs nothing.
            guard state.next < state.costs.count else { return nil }
            state.cost -= state.costs[state.next]
            state.next += 1
            // A reader that never catches up must not leave a growing row of what it has taken.
            if state.next == state.costs.count || state.next > 1000 {
                state.costs.removeFirst(state.next)
                state.next = 0
            }
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// The reader is gone: what still comes is dropped.
    package func leave() {
        let ready = state.withLock { state in
            state.isLeft = true
            state.costs = []
            state.next = 0
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// Goes with the last of a sequence and its iterators.
    final class Reader: Sendable {
        let backlog: StreamBacklog

        init(_ backlog: StreamBacklog) { self.backlog = backlog }

        deinit { backlog.leave() }
    }
}
