internal import CurlewCore

// The total timeout ends a request with `.totalTimedOut`, except for a review, in one of these ways:
//
// | the request | ended by |
// |---|---|
// | runs user code, or waits: for `resume()`, an admission, a retry's delay | `limit`, `limitWait` |
// | has a handler that reviews what is stored | `limitWait`, which ends the review: the request succeeds, unless middleware waits for the end of the body |
// | would choose an endpoint or wait for an admission, with no time left | `checkTimeIsLeft` |
// | would be retried after a delay that is too long | `refusal(ofPause:)` |
// | is sent | the transport, whose total timeout `apply` sets to the remaining time (libcurl: `TransferClocks`) |
// | waits for the cache, or is answered by it or by middleware | `CacheRun`, `ResponseDelivery`, by the same time |
// | opens a WebSocket | `WebSocketTransport`, by the same time |
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
                guard await CancellableSleep.wait(for: remaining) else { throw CancellationError() }
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

    /// Throws `.totalTimedOut` if no time is left.
    func checkTimeIsLeft(_ phase: CurlewError.Phase) throws(CurlewError) {
        if remaining == .zero { throw .totalTimeout(total, phase: phase) }
    }

    /// Returns the error for a retry's delay that would not end in time, or `nil` if it would.
    func refusal(ofPause delay: Duration) -> CurlewError? {
        guard delay != .zero, total != nil, !allows(delay, at: .now) else { return nil }
        return .totalTimeout(total, phase: .retry)
    }

    /// Sets the remaining time as the total timeout of a request that is about to be sent, and tells it to the server in
    /// the session's field. A field of this name in the user's request, as `described`, is sent unchanged.
    func apply(to request: inout TransferRequest, describedBy described: TransferRequest, in context: SessionContext) {
        let name = context.configuration.resilience.deadlineField
        if let name, !described.headers.contains(name: name),
            described.defaultHeaders?.headers.contains(name: name) != true
        {
            request.options.hasDeadlineField = true
        }
        apply(to: &request, deadlineField: name)
    }

    /// Sets the remaining time as the total timeout of a request that is about to be sent, and in its deadline field if
    /// the session has added that.
    func apply(to request: inout TransferRequest, deadlineField name: String?) {
        guard let remaining else { return }
        request.options.timeouts.total = remaining
        guard request.options.hasDeadlineField, let name else { return }
        request.headers.add(name: name, value: RequestDeadline.fieldValue(name, for: remaining))
    }

    /// Sets the time that is left as the total timeout of a request that is about to be sent.
    func apply(to request: inout TransferRequest) {
        if let remaining { request.options.timeouts.total = remaining }
    }

    /// The time that is left at this moment; `nil` if there is no limit, in which case the clock is not read.
    var remaining: Duration? { total == nil ? nil : remaining(at: .now) }
}

extension CurlewError {
    /// The error of a request whose total timeout, `limit`, has expired.
    static func totalTimeout(_ limit: Duration?, phase: Phase) -> CurlewError {
        CurlewError(.totalTimedOut, phase: phase, reason: timeoutReason(.totalTimedOut, after: limit))
    }
}
