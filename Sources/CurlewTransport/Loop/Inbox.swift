internal import CurlewLocks

/// What the loop thread is asked to do.
enum LoopItem<Work: Sendable>: Sendable {
    case work(Work)
    case stop
}

/// The one way into the loop thread: a queue, so that a start and its cancellation cannot overtake each other.
final class Inbox<Work: Sendable>: Sendable {
    typealias Item = LoopItem<Work>

    private struct State {
        var items: [Item] = []
        /// The loop is in (or about to enter) its wait: adding an item must wake it.
        var sleeps = false
        /// The loop has ended: nothing is taken any more.
        var isClosed = false
    }

    private let state = Lock(State())

    func add(_ item: Item) -> InboxAddition {
        state.withLock { state in
            if state.isClosed { return .refused }
            state.items.append(item)
            guard state.sleeps else { return .queued }
            state.sleeps = false
            return .wakeNeeded
        }
    }

    /// Moves everything queued into `batch`, which is empty and gives its storage in exchange.
    func take(into batch: inout [Item]) {
        // SAFETY: both arrays are only exchanged; `batch` belongs to the loop thread.
        withUnsafeMutablePointer(to: &batch) { pointer in
            nonisolated(unsafe) let pointer = pointer
            state.withLock { state in
                state.sleeps = false
                swap(&state.items, &pointer.pointee)
            }
        }
    }

    var isEmpty: Bool { state.withLock { $0.items.isEmpty } }

    /// Whether the loop may wait: true means that the next `add` wakes it.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            state.sleeps = state.items.isEmpty
            return state.sleeps
        }
    }

    /// Closes the queue if it is empty.
    func closeIfEmpty() -> Bool {
        state.withLock { state in
            state.isClosed = state.items.isEmpty
            return state.isClosed
        }
    }
}

/// What became of an item.
enum InboxAddition { case queued, wakeNeeded, refused }
