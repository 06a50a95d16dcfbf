internal import CurlewCore
internal import CurlewLocks

extension Request {
    /// Runs user code, or a wait. `cancel()` and the total timeout end it.
    func callingUserCode<T: Sendable>(
        ownsTask: Bool,
        budget: TimeoutBudget,
        in phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await budget.limit(phase) { try await self.interruptible(ownsTask: ownsTask, work) }
    }

    private func interruptible<T: Sendable>(
        ownsTask: Bool,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        // A task that Curlew has started is cancelled as a whole.
        if ownsTask { return try await UserCode.call(for: self) { try await work() } }
        let call = UserCodeCall { try await UserCode.call(for: self) { try await work() } }
        let isCancelled = record.withLock { record in
            record.lifecycle.driver?.userCall = call
            return record.lifecycle.isCancelled
        }
        if isCancelled { call.cancel() }
        defer {
            // Released without the lock: it holds the user's code.
            _ = record.withLock { $0.lifecycle.releaseUserCall() }
        }
        return try await call.run()
    }

    /// Runs user code of an exchange. Its control, which `give` passes to the owner of the exchange, and the total
    /// timeout cancel it.
    func callingUserCode<T: Sendable>(
        in phase: CurlewError.Phase,
        _ budget: TimeoutBudget,
        behind give: (any TransferControl) -> Void,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        let call = UserCodeCall { try await UserCode.call(for: self) { try await work() } }
        give(UserCodeControl(call))
        return try await budget.limit(phase) { try await call.run() }
    }
}

/// User code that a driver runs in a child of its task.
///
/// `Request.cancel()` has to cancel that code without cancelling the driver's own task, which belongs to the user.
// SAFETY: mutable state is protected by a lock; `UserCodeCall` says why the state that it adds is safe.
class InterruptibleUserCode: @unchecked Sendable {
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

    /// Cancels the code, even before it runs. The user's cancellation handlers run inside this call.
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

    /// Makes the child reachable by `cancel`. Called in the child.
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

    /// Makes the child unreachable by `cancel`. Called in the child. Returns `false` if a thread is still cancelling
    /// it.
    // Never inlined: see `begins`.
    @inline(never)
    fileprivate final func ends() -> Bool {
        state.withLock { state in
            state.task = nil
            return !state.isBeingCancelled
        }
    }

    /// Waits until no thread is cancelling the child.
    fileprivate final func waitUntilReleased() async {
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
final class UserCodeCall<Output: Sendable>: InterruptibleUserCode, @unchecked Sendable {
    private let call: @Sendable () async throws -> Output
    private var result: Result<Output, any Error>?

    init(_ call: @escaping @Sendable () async throws -> Output) { self.call = call }

    func run() async throws -> Output {
        await withDiscardingTaskGroup { group in
            // The child runs on this thread until it first waits, which most adapters never do.
            group.addImmediateTask { await self.runInChild() }
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    private func runInChild() async {
        begins()
        do { result = .success(try await call()) } catch { result = .failure(error) }
        if !ends() { await waitUntilReleased() }
    }
}

/// Lets the control of an exchange end user code that runs before or around a transfer.
final class UserCodeControl: TransferControl {
    private let call: InterruptibleUserCode

    init(_ call: InterruptibleUserCode) { self.call = call }

    func cancel(with error: CurlewError) { call.cancel() }

    // User code can be ended and not suspended.
    func suspend() {}
    func resume() {}
    func resumeReceiving() {}
}

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
