internal import CurlewCore
internal import CurlewLocks

/// Runs user code in a child of a driver's task, and cancels that child alone.
///
/// `Request.cancel()` has to cancel the code without cancelling the driver's own task, which belongs to the user. The
/// same object is the control of an exchange while user code runs before or around the transfer.
///
/// The thread that cancels uses the child's task without the lock, because the user's cancellation handlers run inside
/// that call. If the code returns meanwhile, the child waits for the thread: a task that has ended must not be used.
final class InterruptibleUserCode: TransferControl {
    private struct State: Sendable {
        /// The child task, while the code runs.
        var task: RunningTask?
        var isCancelled = false
        /// Whether a thread is cancelling `task`, which must not end before that call has returned.
        var isBeingCancelled = false
        /// The end of the child, if it waits for that thread.
        var end: UnsafeContinuation<Void, Never>?
    }

    // SAFETY: `UnsafeCurrentTask` allows `cancel` from any thread while its task lives; the task does not end while
    // `isBeingCancelled` is set.
    private struct RunningTask: @unchecked Sendable {
        let task: UnsafeCurrentTask
    }

    private let state = Lock(State())

    /// Runs the code. Call it once.
    func run<Output: Sendable>(_ code: @escaping @Sendable () async throws -> Output) async throws -> Output {
        let result = await withTaskGroup(of: Result<Output, any Error>.self) { group in
            // The child runs on this thread until it first waits, which most adapters never do.
            group.addImmediateTask {
                self.begins()
                let result = await Result.of(code)
                if !self.ends() { await self.waitUntilReleased() }
                return result
            }
            return await group.next()
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// Cancels the code, even before it runs. The user's cancellation handlers run inside this call.
    func cancel() {
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

    func cancel(with error: CurlewError) { cancel() }

    // User code can be ended and not suspended.
    func suspend() {}
    func resume() {}
    func resumeReceiving() {}

    // MARK: The child

    /// Makes the child reachable by `cancel`.
    // Never inlined: the frames of this and `ends` have a dynamic size, for which an asynchronous function would
    // allocate.
    @inline(never)
    private func begins() {
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

    /// Makes the child unreachable by `cancel`. Returns `false` if a thread is still cancelling it.
    // Never inlined, as `begins`.
    @inline(never)
    private func ends() -> Bool {
        state.withLock { state in
            state.task = nil
            return !state.isBeingCancelled
        }
    }

    /// Waits until no thread is cancelling the child.
    private func waitUntilReleased() async {
        await withUnsafeContinuation { continuation in
            let mayEnd = state.withLock { state in
                if state.isBeingCancelled { state.end = continuation }
                return !state.isBeingCancelled
            }
            if mayEnd { continuation.resume() }
        }
    }
}

// MARK: - The user code of a request

extension Request {
    /// Runs user code of the run, or a wait. `cancel()` and the total timeout end it. With `ownsTask`, Curlew has
    /// started the current task, and cancels all of it.
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
        if ownsTask { return try await UserCode.call(for: self) { try await work() } }
        let code = InterruptibleUserCode()
        let isCancelled = record.withLock { record in
            record.lifecycle.driver?.userCode = code
            return record.lifecycle.isCancelled
        }
        if isCancelled { code.cancel() }
        defer { record.withLock { $0.lifecycle.driver?.userCode = nil } }
        return try await code.run { try await UserCode.call(for: self) { try await work() } }
    }

    /// Runs user code of an exchange. `attach` makes the code's control that of the exchange, which cancels the code.
    /// The total timeout cancels it too.
    func callingUserCode<T: Sendable>(
        budget: TimeoutBudget,
        in phase: CurlewError.Phase,
        attaching attach: (any TransferControl) -> Void,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        let code = InterruptibleUserCode()
        attach(code)
        return try await budget.limit(phase) {
            try await code.run { try await UserCode.call(for: self) { try await work() } }
        }
    }
}

extension Result where Failure == any Error {
    /// Returns the value of the work, or the error that it throws.
    package static func of(_ work: () async throws -> Success) async -> Self {
        do { return .success(try await work()) } catch { return .failure(error) }
    }
}
