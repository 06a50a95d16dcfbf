internal import CurlewLocks
internal import Glibc

/// Which thread has the loop's turn, for those whose state belongs to it: the loop's own, or a caller's that has borrowed it.
final class LoopIdentity: Sendable {
    private struct Threads {
        /// nil before the loop thread's first turn and after its last.
        var own: pthread_t?
        /// The own, or a caller's; nil where `own` is.
        var holder: pthread_t?
    }

    private let threads = Lock(Threads())

    func threadBegins() { threads.withLock { $0 = Threads(own: pthread_self(), holder: pthread_self()) } }

    func threadEnds() { threads.withLock { $0 = Threads() } }

    /// The calling thread has borrowed the turn.
    func borrowedTurnBegins() { threads.withLock { $0.holder = pthread_self() } }

    func borrowedTurnEnds() { threads.withLock { $0.holder = $0.own } }

    /// Whether the caller runs within one of the loop's turns.
    var isCurrent: Bool {
        threads.withLock { $0.holder.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Stops a debug build that touches the loop's state outside of a turn.
    func assertOnLoop() { assert(isCurrent, "the engine's state was touched outside of its loop's turns") }
}
