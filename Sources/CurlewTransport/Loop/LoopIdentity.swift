internal import CurlewLocks
internal import Glibc

/// Which thread is the loop's, for those whose state belongs to it.
final class LoopIdentity: Sendable {
    /// nil before the thread's first turn and after its last.
    private let thread = Lock<pthread_t?>(nil)

    func threadBegins() { thread.withLock { $0 = pthread_self() } }

    func threadEnds() { thread.withLock { $0 = nil } }

    /// Whether the caller runs on the loop's thread.
    var isCurrent: Bool { thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }

    /// Stops a debug build that touches the loop's state on another thread.
    func assertOnLoop() { assert(isCurrent, "the engine's state was touched outside of its loop's thread") }
}
