internal import CurlewLocks

/// Foreign code at work for a driver, in a child task of the driver's.
///
/// `Request.cancel()` has to reach that code without cancelling the driver's own task, which belongs to
/// the user.
final class ForeignWork: Sendable {
    private enum State {
        case idle
        case running(UnsafeCurrentTask)
        case cancelled
    }

    private let state = Lock(State.idle)

    /// Cancels the work that runs, or is about to. Cancellation handlers of foreign code run in here.
    func cancel() {
        // SAFETY: `UnsafeCurrentTask` allows `cancel` from elsewhere while its task lives, and that task
        // cannot end before it has taken this lock.
        state.withLock { state in
            if case .running(let task) = state { task.cancel() }
            state = .cancelled
        }
    }

    /// Runs `work` in a child task that `cancel` reaches.
    func run<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws -> T {
        try await withThrowingTaskGroup(of: T.self) { group in
            let child: @Sendable () async throws -> T = {
                self.begins()
                defer { self.ends() }
                return try await work()
            }
            #if compiler(>=6.2)
            // On this thread until it waits for something, which most adapters never do.
            group.addImmediateTask(operation: child)
            #else
            group.addTask(operation: child)
            #endif
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }

    /// In the child, which `cancel` reaches from now on.
    private func begins() {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            state.withLock { state in
                switch state {
                case .idle: state = .running(task)
                case .cancelled: task.cancel()
                case .running: break
                }
            }
        }
    }

    private func ends() {
        state.withLock { state in
            if case .running = state { state = .idle }
        }
    }
}
