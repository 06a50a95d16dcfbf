internal import CurlewLocks

/// Foreign code at work for a driver, in a child task of the driver's.
///
/// `Request.cancel()` has to reach that code without cancelling the driver's own task, which belongs to
/// the user.
// SAFETY: what its subclasses add is written by the child alone, and read when the child has ended.
class ForeignWork: @unchecked Sendable {
    private struct State {
        /// While it runs.
        var task: UnsafeCurrentTask?
        var isCancelled = false
    }

    private let state = Lock(making: { State() })

    /// Cancels the work that runs, or is about to. Cancellation handlers of foreign code run in here.
    final func cancel() {
        // SAFETY: `UnsafeCurrentTask` allows `cancel` from elsewhere while its task lives, and that task
        // cannot end before it has taken this lock.
        state.withLock { state in
            state.isCancelled = true
            state.task?.cancel()
        }
    }

    /// In the child, which `cancel` reaches from now on.
    // Never inlined, nor `ends`: what they keep on the stack has a size that the compiler does not know, which in an
    // asynchronous function is an allocation.
    @inline(never)
    fileprivate final func begins() {
        withUnsafeCurrentTask { task in
            state.withLock { state in
                state.task = task
                if state.isCancelled { task?.cancel() }
            }
        }
    }

    @inline(never)
    fileprivate final func ends() { state.withLock { $0.task = nil } }
}

/// What is to be done, and what came of it: one object, which is all that the child task has to hold.
protocol ForeignJob: ForeignWork {
    associatedtype Output: Sendable

    var result: Result<Output, any Error>? { get set }

    func work() async throws -> Output
}

extension ForeignJob {
    /// Does it in a child task that `cancel` reaches.
    // Inlined, as are those who call it: each asynchronous function on the way has a frame to make and an executor to
    // look at. A group that hands its children's results over would be two more.
    @inline(__always)
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

    @inline(__always)
    private func runInChild() async {
        begins()
        do { result = .success(try await work()) } catch { result = .failure(error) }
        ends()
    }
}

/// One call.
// SAFETY: that of `ForeignWork`.
final class ForeignCall<Output: Sendable>: ForeignWork, ForeignJob, @unchecked Sendable {
    private let call: @Sendable () async throws -> Output
    var result: Result<Output, any Error>?

    init(_ call: @escaping @Sendable () async throws -> Output) { self.call = call }

    func work() async throws -> Output { try await call() }
}
