internal import CurlewLocks
internal import Dispatch

/// An item for the loop thread.
enum LoopItem<Work: Sendable>: Sendable {
    case work(Work)
    case stop
}

/// The only way into the loop: a queue, which keeps a start and its cancellation in order, and the state that says
/// which thread has the turn.
///
/// The turn is the right to touch the client's state. The loop thread has it while it is awake. While the loop thread
/// sleeps, a caller may borrow the turn (Docs/Decisions/0019).
final class Inbox<Client: LoopClient>: Sendable {
    typealias Item = LoopItem<Client.Work>

    private enum Phase {
        /// The loop thread has the turn, and checks the queue before it sleeps.
        case awake
        /// The loop thread is in its wait, or about to enter it, and the queue is empty. If there is a lender, a caller
        /// may borrow the turn.
        case asleep(lender: Client?)
        /// A caller has the turn. `isWanted`: the loop thread has woken up meanwhile and waits for the turn.
        case lent(isWanted: Bool)
        /// The loop has ended and accepts nothing.
        case closed
    }

    private struct State {
        var items: [Item] = []
        var phase = Phase.awake
    }

    private let state = Lock(State())
    /// Signalled when a caller gives back a turn that the loop thread waits for.
    private let returned = DispatchSemaphore(value: 0)

    // MARK: From any thread

    func add(_ item: Item) -> InboxAddition {
        state.withLock { state in
            switch state.phase {
            case .closed: return .refused
            case .awake, .lent:
                state.items.append(item)
                return .queued
            case .asleep:
                state.items.append(item)
                state.phase = .awake
                return .wakeNeeded
            }
        }
    }

    /// The client, if its turn can be borrowed. The caller must give the turn back soon, because the loop thread may
    /// wait for it.
    func borrowTurn() -> Client? {
        state.withLock { state in
            guard case .asleep(let lender?) = state.phase else { return nil }
            state.phase = .lent(isWanted: false)
            return lender
        }
    }

    /// Ends a borrowed turn. Returns true if the caller must wake the loop thread. `lender` lends the next turn;
    /// `wakesLoop` is true if the loop thread sleeps for too long.
    func giveTurnBack(lender: Client?, wakesLoop: Bool) -> Bool {
        let (isWanted, mustWake) = state.withLock { state in
            if case .lent(isWanted: true) = state.phase {
                state.phase = .awake
                return (true, false)
            }
            // Items that were added during the turn were queued without waking the loop thread.
            let mustWake = wakesLoop || !state.items.isEmpty
            state.phase = mustWake ? .awake : .asleep(lender: lender)
            return (false, mustWake)
        }
        if isWanted { returned.signal() }
        return mustWake
    }

    // MARK: The loop thread

    /// Whether the loop thread may wait. If so, the thread has given up its turn, and the next `add` wakes it.
    func prepareToSleep(lender: Client?) -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.phase = .asleep(lender: lender)
            return true
        }
    }

    /// Gives the turn back to the loop thread after its wait. Blocks while a caller has the turn.
    func takeTurnBack() {
        let isLent = state.withLock { state in
            guard case .lent = state.phase else {
                state.phase = .awake
                return false
            }
            state.phase = .lent(isWanted: true)
            return true
        }
        guard isLent else { return }
        returned.wait()
        // The thread sanitizer understands locks and not semaphores: the lock orders the caller's work before the code
        // that follows.
        state.withLock { _ in }
    }

    /// Moves all queued items into `batch`, which must be empty and whose storage the queue reuses. Returns false if
    /// there were none.
    @discardableResult
    func take(into batch: inout [Item]) -> Bool {
        // SAFETY: both arrays are only swapped; `batch` belongs to the loop thread.
        withUnsafeMutablePointer(to: &batch) { pointer in
            nonisolated(unsafe) let pointer = pointer
            state.withLock { swap(&$0.items, &pointer.pointee) }
        }
        return !batch.isEmpty
    }

    /// Closes the queue if it is empty; returns whether it did.
    func closeIfEmpty() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.phase = .closed
            return true
        }
    }
}

/// The result of adding an item.
enum InboxAddition { case queued, wakeNeeded, refused }
