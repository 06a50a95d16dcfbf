internal import CurlewLocks

/// What foreign code is asked for.
protocol ForeignJob: Sendable {
    associatedtype Output: Sendable

    func run() async throws -> Output
}

struct ForeignCall<Output: Sendable>: ForeignJob {
    let work: @Sendable () async throws -> Output

    func run() async throws -> Output { try await work() }
}

/// Foreign code at work for a driver, in a child task of the driver's.
///
/// `Request.cancel()` has to reach that code without cancelling the driver's own task, which belongs to
/// the user.
struct ForeignWork: Sendable {
    private struct State {
        /// While it runs.
        var task: UnsafeCurrentTask?
        var isCancelled = false
    }

    private let state: Lock<State>

    // Never inlined, nor `begins` and `ends`: what they keep on the stack has a size that the compiler does not know, which in
    // an asynchronous function is an allocation.
    @inline(never)
    init() { state = Lock(making: { State() }) }

    /// Cancels the work that runs, or is about to. Cancellation handlers of foreign code run in here.
    func cancel() {
        // SAFETY: `UnsafeCurrentTask` allows `cancel` from elsewhere while its task lives, and that task
        // cannot end before it has taken this lock.
        state.withLock { state in
            state.isCancelled = true
            state.task?.cancel()
        }
    }

    /// Runs `job` in a child task that `cancel` reaches.
    // Inlined, as are those who call it: each asynchronous function on the way has a frame to make and an executor to
    // look at. A group that hands its children's results over would be two more.
    @inline(__always)
    func run<Job: ForeignJob>(_ job: Job) async throws -> Job.Output {
        // SAFETY: the child alone writes it, and it is read when the group has ended, and with it the child.
        nonisolated(unsafe) var result: Result<Job.Output, any Error>?
        await withDiscardingTaskGroup { group in
            let child: @Sendable () async -> Void = {
                begins()
                do { result = .success(try await job.run()) } catch { result = .failure(error) }
                ends()
            }
            #if compiler(>=6.2)
            // On this thread until it waits for something, which most adapters never do.
            group.addImmediateTask(operation: child)
            #else
            group.addTask(operation: child)
            #endif
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// In the child, which `cancel` reaches from now on.
    @inline(never)
    private func begins() {
        withUnsafeCurrentTask { task in
            state.withLock { state in
                state.task = task
                if state.isCancelled { task?.cancel() }
            }
        }
    }

    @inline(never)
    private func ends() { state.withLock { $0.task = nil } }
}
