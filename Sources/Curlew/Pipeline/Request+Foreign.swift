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
        try await foreign(ownsTask: ownsTask, budget: budget, in: phase, ForeignCall(work))
    }

    /// The same for work that is more than a closure.
    // Inlined: see `ForeignJob.run`.
    @inline(__always)
    func foreign<Job: ForeignJob>(
        ownsTask: Bool,
        budget: TimeoutBudget,
        in phase: CurlewError.Phase,
        _ job: Job
    ) async throws -> Job.Output {
        guard let remaining = budget.remaining else {
            return try await interruptible(ownsTask: ownsTask, job)
        }
        return try await withThrowingTaskGroup(of: Job.Output.self) { group in
            group.addTask { try await self.interruptible(ownsTask: ownsTask, job) }
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
    private func interruptible<Job: ForeignJob>(ownsTask: Bool, _ job: Job) async throws -> Job.Output {
        // A task of Curlew's is cancelled as a whole.
        if ownsTask { return try await job.work() }
        let isCancelled = record.withLock { record in
            record.foreignWork = job
            return record.machine.isCancelled
        }
        if isCancelled { job.cancel() }
        defer { _ = record.withLock { exchange(&$0.foreignWork, with: nil) } }
        return try await job.run()
    }
}
