internal import CurlewLocks
internal import Glibc

/// Knows which thread has the loop's turn: the loop thread, or a caller that has borrowed it.
final class LoopIdentity: Sendable {
    private struct Threads {
        /// The loop thread; `nil` before its first turn and after its last.
        var own: pthread_t?
        /// The thread that has the turn; `nil` if `own` is `nil`.
        var holder: pthread_t?
    }

    private let threads = Lock(Threads())

    func threadBegins() { threads.withLock { $0 = Threads(own: pthread_self(), holder: pthread_self()) } }

    func threadEnds() { threads.withLock { $0 = Threads() } }

    /// Called when the calling thread has borrowed the turn.
    func borrowedTurnBegins() { threads.withLock { $0.holder = pthread_self() } }

    func borrowedTurnEnds() { threads.withLock { $0.holder = $0.own } }

    /// Whether the calling thread has the turn.
    var isCurrent: Bool {
        threads.withLock { $0.holder.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Stops a debug build in which a thread without the turn touches the loop's state.
    func assertOnLoop() { assert(isCurrent, "the engine's state was touched outside of its loop's turns") }
}
