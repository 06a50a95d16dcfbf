internal import CurlewCore
internal import CurlewLocks

extension Request {
    /// Runs code that is not Curlew's, or a wait, so that `cancel()` and the total clock end it.
    // Inlined: see `ForeignWork.run`.
    @inline(__always)
    func foreign<T: Sendable>(
        ownsTask: Bool,
        budget: TimeoutBudget,
        in phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        guard let remaining = budget.total == nil ? nil : budget.remaining(at: .now) else {
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

    @inline(__always)
    private func interruptible<T: Sendable>(
        ownsTask: Bool,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        // A task of Curlew's is cancelled as a whole.
        if ownsTask { return try await work() }
        let foreign = ForeignWork()
        let isCancelled = record.withLock { record in
            record.foreignWork = foreign
            return record.machine.isCancelled
        }
        if isCancelled { foreign.cancel() }
        defer { record.withLock { $0.foreignWork = nil } }
        return try await foreign.run(work)
    }
}
