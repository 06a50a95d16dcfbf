internal import CurlewLocks

/// User code that a driver runs in a child of its task.
///
/// `Request.cancel()` has to cancel that code without cancelling the driver's own task, which belongs to the user.
// SAFETY: mutable state is protected by a lock; `ForeignCall` says why the state that it adds is safe.
class ForeignWork: @unchecked Sendable {
    private struct State {
        /// The child task, while the code runs.
        var task: RunningTask?
        var isCancelled = false
        /// Whether a thread is cancelling `task`, which must not end before that call has returned.
        var isBeingCancelled = false
        /// The end of the work, if it waits for that thread.
        var end: UnsafeContinuation<Void, Never>?
    }

    // SAFETY: `UnsafeCurrentTask` allows `cancel` from any thread while its task lives; the task does not end while
    // `isBeingCancelled` is set.
    private struct RunningTask: @unchecked Sendable {
        let task: UnsafeCurrentTask
    }

    private let state = Lock(making: { State() })

    /// Cancels the code that runs, or will run. Cancellation handlers of the user run inside this call.
    final func cancel() {
        let running = state.withLock { state -> RunningTask? in
            guard !state.isCancelled else { return nil }
            state.isCancelled = true
            state.isBeingCancelled = state.task != nil
            return state.task
        }
        guard let running else { return }
        running.task.cancel()
        let end = state.withLock { state in
            state.isBeingCancelled = false
            return exchange(&state.end, with: nil)
        }
        end?.resume()
    }

    /// Called in the child: from then on `cancel` reaches it.
    // Never inlined: the frames of this and `ends` have a dynamic size, for which an asynchronous function would
    // allocate.
    @inline(never)
    fileprivate final func begins() {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            let running = RunningTask(task: task)
            let isCancelled = state.withLock { state in
                state.task = running
                return state.isCancelled
            }
            if isCancelled { task.cancel() }
        }
    }

    /// Called in the child: from then on `cancel` does not reach it. Returns `false` if a thread is still cancelling
    /// it.
    // Never inlined: see `begins`.
    @inline(never)
    fileprivate final func ends() -> Bool {
        state.withLock { state in
            state.task = nil
            return !state.isBeingCancelled
        }
    }

    /// Returns when no thread is cancelling the child.
    fileprivate final func untilLetGo() async {
        await withUnsafeContinuation { continuation in
            let mayEnd = state.withLock { state in
                if state.isBeingCancelled { state.end = continuation }
                return !state.isBeingCancelled
            }
            if mayEnd { continuation.resume() }
        }
    }
}

/// One call of user code, in a child task that `cancel` reaches.
// SAFETY: `result` is written by the child alone, and read when the child has ended.
final class ForeignCall<Output: Sendable>: ForeignWork, @unchecked Sendable {
    private let call: @Sendable () async throws -> Output
    private var result: Result<Output, any Error>?

    init(_ call: @escaping @Sendable () async throws -> Output) { self.call = call }

    func run() async throws -> Output {
        await withDiscardingTaskGroup { group in
            #if compiler(>=6.2)
            // The child runs on this thread until it first waits, which most adapters never do.
            group.addImmediateTask { await self.runInChild() }
            #else
            group.addTask { await self.runInChild() }
            #endif
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    private func runInChild() async {
        begins()
        do { result = .success(try await call()) } catch { result = .failure(error) }
        if !ends() { await untilLetGo() }
    }
}
