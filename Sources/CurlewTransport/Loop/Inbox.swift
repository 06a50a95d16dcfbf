internal import CurlewLocks

/// What the loop thread is asked to do, in the order in which it was asked. One queue for jobs of the
/// actor and for commands, so that a start and its cancellation cannot overtake each other.
enum LoopItem {
    case job(UnownedJob)
    case start(ActiveTransfer)
    case command(ActiveTransfer, TransferCommand)
    case stop
}

/// The one door into the loop thread.
final class Inbox: Sendable {
    private struct State {
        var items: [LoopItem] = []
        /// The loop is in (or about to enter) its wait: adding an item must wake it.
        var sleeps = false
        /// The loop has ended: nothing is taken any more.
        var isClosed = false
    }

    enum Addition { case queued, wakeNeeded, refused }

    private let state = Lock(State())

    func add(_ item: LoopItem) -> Addition {
        state.withLock { state in
            if state.isClosed { return .refused }
            state.items.append(item)
            guard state.sleeps else { return .queued }
            state.sleeps = false
            return .wakeNeeded
        }
    }

    /// Moves everything queued into `batch`, which is empty and gives its storage in exchange.
    func take(into batch: inout [LoopItem]) {
        // SAFETY: both arrays are only exchanged; `batch` belongs to the loop thread.
        withUnsafeMutablePointer(to: &batch) { pointer in
            nonisolated(unsafe) let pointer = pointer
            state.withLock { state in
                state.sleeps = false
                swap(&state.items, &pointer.pointee)
            }
        }
    }

    /// Whether the loop may wait: true means that the next `add` wakes it.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            state.sleeps = state.items.isEmpty
            return state.sleeps
        }
    }

    /// Closes the door if nothing is queued.
    func closeIfEmpty() -> Bool {
        state.withLock { state in
            state.isClosed = state.items.isEmpty
            return state.isClosed
        }
    }
}
