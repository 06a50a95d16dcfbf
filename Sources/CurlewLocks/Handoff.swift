public import Dispatch

/// The only way from Curlew to a user's dispatch queue.
///
/// The thread sanitizer does not see libdispatch's happens-before edge on Linux. Taking and releasing
/// one lock before the dispatch and again inside the closure gives it an edge that it does see.
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

    /// The same, not before `deadline`.
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

    /// Runs `work` on `queue`, and waits for it without holding a thread. Cancellation does not cut it short.
    ///
    /// The way back needs an edge too: the sanitizer sees none from a continuation that is resumed before its task waits.
    public func run<R: Sendable>(
        on queue: DispatchQueue,
        isolation: isolated (any Actor)? = #isolation,
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
