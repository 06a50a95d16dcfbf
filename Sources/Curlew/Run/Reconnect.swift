internal import CurlewCore

extension Run {
    /// Waits, and makes the request ready for another connection. The reason and the pacing of earlier retries are
    /// reset; their number is not.
    func reconnect(after pause: Duration, _ result: RunResult) async -> ResultVerdict {
        do {
            // The total timeout limits each attempt to connect, not the pauses between connections.
            try await request.foreign(ownsTask: rules.ownsTask, budget: .unlimited, in: .retry) {
                try await Task.sleep(for: pause)
            }
        } catch {
            return .end(result.failing(with: request.cancellation, resumeData: nil))
        }
        if let error = result.error { request.failed(with: error) }
        guard request.prepareForRetry() else {
            return .end(result.failing(with: request.cancellation, resumeData: nil))
        }
        retries = RetryHistory(count: retries.count + 1)
        if let total = budget.total { budget = TimeoutBudget(total: total, started: .now) }
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .again
    }
}
