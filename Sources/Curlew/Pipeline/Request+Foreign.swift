internal import CurlewCore
internal import CurlewLocks

extension Request {
    /// Runs user code, or a wait, that `cancel()` and the total timeout end.
    func foreign<T: Sendable>(
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
        let call = ForeignCall { try await UserCode.call(for: self) { try await work() } }
        let isCancelled = record.withLock { record in
            record.lifecycle.driver?.userCall = call
            return record.isCancelled
        }
        if isCancelled { call.cancel() }
        defer {
            // Released without the lock: it holds the user's code.
            _ = record.withLock { record in exchange(&record.lifecycle.driver, with: record.lifecycle.driver?.withoutCall) }
        }
        return try await call.run()
    }
}

extension TimeoutBudget {
    /// Runs `work`. If the total timeout expires first, cancels `work` and throws `.totalTimedOut`.
    func limit<T: Sendable>(
        _ phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        guard let remaining else { return try await work() }
        return try await withThrowingTaskGroup(of: T.self) { group in
            group.addTask { try await work() }
            group.addTask {
                guard await Pause.wait(for: remaining) else { throw CancellationError() }
                throw CurlewError.totalTimeout(total, phase: phase)
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    /// Runs a wait within the total timeout. Cancelling the waiting task ends the wait without an error.
    func limitWait(_ phase: CurlewError.Phase, _ wait: @escaping @Sendable () async -> Void) async throws(CurlewError) {
        do {
            try await limit(phase) { () async throws -> Void in await wait() }
        } catch {
            if let error = error as? CurlewError { throw error }
        }
    }
}
