public import Dispatch

/// Runs work on a user's dispatch queue, in an order that the thread sanitizer sees.
///
/// On Linux, the thread sanitizer does not see that work on a queue happens after its dispatch. Taking and releasing
/// one lock before the dispatch, and again inside the closure, makes the order visible.
public struct Handoff: Sendable {
    private let fence = Lock(false)

    /// Creates a hand-off.
    public init() {}

    /// Runs `work` on `queue`, after everything the caller did before this call.
    public func callAsFunction(to queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        let fence = fence
        fence.withLock { _ in }
        queue.async {
            fence.withLock { _ in }
            work()
        }
    }

    /// Runs `work` on `queue` at `deadline` or later, after everything the caller did before this call.
    public func callAsFunction(
        to queue: DispatchQueue,
        at deadline: DispatchTime,
        _ work: @escaping @Sendable () -> Void
    ) {
        let fence = fence
        fence.withLock { _ in }
        queue.asyncAfter(deadline: deadline) {
            fence.withLock { _ in }
            work()
        }
    }

    /// Runs `work` on `queue` and waits for the result without blocking a thread. Cancellation does not end the wait
    /// early.
    ///
    /// The result needs the lock as well: if a continuation is resumed before its task suspends, the sanitizer sees no
    /// order between the two.
    public func run<R: Sendable>(
        on queue: DispatchQueue,
        _ work: @escaping @Sendable () -> R
    ) async -> R {
        let fence = fence
        let result = await withCheckedContinuation { continuation in
            self(to: queue) {
                let result = work()
                fence.withLock { _ in }
                continuation.resume(returning: result)
            }
        }
        fence.withLock { _ in }
        return result
    }
}
