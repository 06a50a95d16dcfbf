internal import CurlewCore
internal import CurlewLocks

extension Request {
    /// Runs code that is not Curlew's, or a wait, so that `cancel()` and the total clock end it.
    func foreign<T: Sendable>(
        ownsTask: Bool,
        budget: TimeoutBudget,
        in phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        guard let remaining = budget.remaining else {
            return try await interruptible(ownsTask: ownsTask, work)
        }
        return try await withThrowingTaskGroup(of: T.self) { group in
            group.addTask { try await self.interruptible(ownsTask: ownsTask, work) }
            group.addTask {
                try await Task.sleep(for: remaining)
                throw CurlewError.totalTimeout(phase: phase)
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    private func interruptible<T: Sendable>(
        ownsTask: Bool,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        // A task of Curlew's is cancelled as a whole.
        if ownsTask { return try await work() }
        let call = ForeignCall(work)
        let isCancelled = record.withLock { record in
            record.foreignWork = call
            return record.machine.isCancelled
        }
        if isCancelled { call.cancel() }
        defer { _ = record.withLock { exchange(&$0.foreignWork, with: nil) } }
        return try await call.run()
    }
}
