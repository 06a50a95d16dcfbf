internal import CurlewLocks

/// An unstructured task that belongs to an exchange. It may be cancelled before it starts.
///
/// Such tasks read a body from an asynchronous sequence, write a large one to a cache's store, tell the store that
/// nothing will be stored, or send a request for a middleware.
final class ExchangeTask: Sendable {
    private struct State: Sendable {
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Lock(State())

    /// Starts the task. Call it once.
    func start(_ work: @escaping @Sendable () async -> Void) {
        let task = Task { await work() }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Cancels the task that runs, or will be started.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Waits for the end of the task. Returns at once if it has not been started.
    func wait() async { await state.withLock { $0.task }?.value }
}
