internal import CurlewLocks

/// Foreign code at work for a driver, in a child task of the driver's.
///
/// `Request.cancel()` has to reach that code without cancelling the driver's own task, which belongs to
/// the user.
// SAFETY: what is not constant here lies behind a lock; `ForeignCall` says why what it adds is safe.
class ForeignWork: @unchecked Sendable {
    private struct State {
        /// While it runs.
        var task: RunningTask?
        var isCancelled = false
        /// A thread is on its way into `task`, which must not end before it has come back.
        var isBeingCancelled = false
        /// The end of the work, where it waits for that thread.
        var end: UnsafeContinuation<Void, Never>?
    }

    // SAFETY: `UnsafeCurrentTask` allows `cancel` from everywhere while its task lives; see `isBeingCancelled`.
    private struct RunningTask: @unchecked Sendable {
        let task: UnsafeCurrentTask
    }

    private let state = Lock(making: { State() })

    /// Cancels the work that runs, or is about to. Cancellation handlers of foreign code run in here.
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

    /// In the child, which `cancel` reaches from now on.
    // Never inlined: what this and `ends` keep on the stack has a size that the compiler does not know, which in an
    // asynchronous function is an allocation.
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

    /// In the child, which `cancel` reaches no more. False while it is still at it.
    // Never inlined: see `begins`.
    @inline(never)
    fileprivate final func ends() -> Bool {
        state.withLock { state in
            state.task = nil
            return !state.isBeingCancelled
        }
    }

    /// Returns when `cancel` has let go of the child.
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

/// One call of foreign code, in a child task that `cancel` reaches.
// SAFETY: `result` is written by the child alone, and read when the child has ended.
final class ForeignCall<Output: Sendable>: ForeignWork, @unchecked Sendable {
    private let call: @Sendable () async throws -> Output
    private var result: Result<Output, any Error>?

    init(_ call: @escaping @Sendable () async throws -> Output) { self.call = call }

    func run() async throws -> Output {
        await withDiscardingTaskGroup { group in
            #if compiler(>=6.2)
            // On this thread until it waits for something, which most adapters never do.
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
