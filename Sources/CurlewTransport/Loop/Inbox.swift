internal import CurlewLocks
internal import Dispatch

/// What the loop thread is asked to do.
enum LoopItem<Work: Sendable>: Sendable {
    case work(Work)
    case stop
}

/// The one way into the loop: a queue, so that a start and its cancellation cannot overtake each other, and whose turn it is.
///
/// The turn is the right to touch the client's state. It is the loop thread's while that is awake. While it sleeps, a
/// caller may borrow the turn (Docs/Decisions/0019).
final class Inbox<Client: LoopClient>: Sendable {
    typealias Item = LoopItem<Client.Work>

    private enum Phase {
        /// The loop thread has the turn, and looks into the queue before it sleeps.
        case awake
        /// The loop thread is in its wait, or about to enter it, and the queue is empty. With a lender a caller may take the turn.
        case asleep(lender: Client?)
        /// A caller has the turn. `isWanted`: the loop thread has woken up meanwhile, and waits for it.
        case lent(isWanted: Bool)
        /// The loop has ended: nothing is taken any more.
        case closed
    }

    private struct State {
        var items: [Item] = []
        var phase = Phase.awake
    }

    private let state = Lock(State())
    /// Signalled when a wanted turn is given back.
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

    /// The client, if its turn can be had now. Who gets it gives it back soon: the loop thread may wait for it.
    func borrowTurn() -> Client? {
        state.withLock { state in
            guard case .asleep(let lender?) = state.phase else { return nil }
            state.phase = .lent(isWanted: false)
            return lender
        }
    }

    /// Ends a borrowed turn; true where the caller must wake the loop thread. `lender` lends the next turn; `wakesLoop` says that
    /// the loop thread sleeps for too long.
    func giveTurnBack(lender: Client?, wakesLoop: Bool) -> Bool {
        let (isWanted, mustWake) = state.withLock { state in
            if case .lent(isWanted: true) = state.phase {
                state.phase = .awake
                return (true, false)
            }
            // What came during the turn was only queued.
            let mustWake = wakesLoop || !state.items.isEmpty
            state.phase = mustWake ? .awake : .asleep(lender: lender)
            return (false, mustWake)
        }
        if isWanted { returned.signal() }
        return mustWake
    }

    // MARK: The loop thread

    /// Whether the loop thread may wait: true means that the next `add` wakes it. The turn is no longer its own then.
    func prepareToSleep(lender: Client?) -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.phase = .asleep(lender: lender)
            return true
        }
    }

    /// After the wait: the turn is the loop thread's again, once a caller that has it gives it back.
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
        // The thread sanitizer sees locks, not semaphores: what the caller did comes before what follows.
        state.withLock { _ in }
    }

    /// Moves everything queued into `batch`, which is empty and gives its storage in exchange.
    func take(into batch: inout [Item]) {
        // SAFETY: both arrays are only exchanged; `batch` belongs to the loop thread.
        withUnsafeMutablePointer(to: &batch) { pointer in
            nonisolated(unsafe) let pointer = pointer
            state.withLock { swap(&$0.items, &pointer.pointee) }
        }
    }

    var isEmpty: Bool { state.withLock { $0.items.isEmpty } }

    /// Closes the queue if it is empty.
    func closeIfEmpty() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.phase = .closed
            return true
        }
    }
}

/// What became of an item.
enum InboxAddition { case queued, wakeNeeded, refused }
