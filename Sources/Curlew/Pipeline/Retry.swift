internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The number and the cause of a run's retries.
struct RetryHistory: Sendable {
    /// The number of attempts before this one.
    var count = 0
    /// The failure that caused this attempt.
    var reason: CurlewError?
    var pacing = RetryPacing()
}

/// What follows a failure.
enum RetryOutcome {
    /// Another attempt, which has been prepared.
    case again
    /// No attempt. With `nil`, the failure remains.
    case end(replacing: CurlewError?)
}

// The outer loop: retriers are asked about whole attempts, and do not see redirects.
extension Run {
    /// Whether another attempt may follow. A retrier may refuse a status that the awaiting method accepts.
    func mayBeReplaced(_ result: RunResult) -> Bool {
        if result.error != nil || request.kind.opensWebSocket { return true }
        return attempt.options.hasRetriers && result.response?.head.status != 200
    }

    /// Returns the result of the run after this attempt's, or `nil` if another attempt follows.
    func lastResult(after tried: RunResult) async -> RunResult? {
        let result = retries.reason.map { tried.explained(by: $0) } ?? tried
        let last: RunResult?
        if let failure = result.error {
            if attempt.startsOver, !request.isCancelled { return nil }
            last = await resultUnlessRetried(after: failure, result)
        } else {
            last = await resultUnlessStatusRetried(result)
        }
        guard let last, !request.isCancelled,
            let pause = request.kind.connection?.pauseBeforeReconnecting(after: last)
        else { return last }
        return await reconnect(after: pause, last)  // Run.swift
    }

    /// Asks the retriers about a failed attempt.
    func resultUnlessRetried(after failure: CurlewError, _ result: RunResult) async -> RunResult? {
        switch await decideRetry(after: failure, of: result) {
        case .again: nil
        case .end(replacing: nil): result
        case .end(replacing: let error?): result.failing(with: error, resumeData: request.producedResumeData)
        }
    }

    /// Asks the retriers that want to see the status, although the attempt has succeeded.
    private func resultUnlessStatusRetried(_ result: RunResult) async -> RunResult? {
        let held = heldDownload
        guard let status = result.response?.head.status, held != nil || !request.isCancelled else { return result }
        // Bytes that the reader of a stream has received cannot be taken back.
        if case .streamed = result.body { return result }
        let retriers = request.retriers.filter { $0.retryableHTTPStatusCodes.contains(status) }
        guard held != nil || !retriers.isEmpty else { return result }
        var failure = CurlewError.unacceptableStatus(status)
        failure.url = result.response?.url
        failure.attempt = attempt.number
        switch await decideRetry(after: failure, of: result, by: retriers) {
        case .again: return nil
        // If there is no time for another attempt, the response is delivered.
        case .end(replacing: nil), .end(replacing: CurlewError.Code.totalTimedOut?):
            if let held { return await deliver(held) }
            request.clearFailure()
            return result
        case .end(replacing: let error?):
            let failed = if let held { await dropped(held) } else { result }
            return failed.failing(with: error, resumeData: request.producedResumeData)
        }
    }

    /// Asks the retriers, all or those given, waits for the delay that they demand, and makes the request ready for
    /// another attempt.
    func decideRetry(
        after failure: CurlewError,
        of result: RunResult,
        by chosen: [any RequestRetrier]? = nil
    ) async -> RetryOutcome {
        let retriers = chosen ?? request.retriers
        guard !retriers.isEmpty, !request.isCancelled, failure.code != .totalTimedOut,
            !attempt.isFinal(result)
        else { return .end(replacing: nil) }
        let failed = ContinuousClock.now
        request.recordFailure(failure)
        guard request.kind.reader?.allowsAnotherAttempt(of: request) ?? true else { return .end(replacing: nil) }
        do {
            for retrier in retriers {
                let (request, session) = (request, session)
                let answer = try await callingUserCode(in: .retry) {
                    await retrier.retry(request, for: session, dueTo: failure)
                }
                if request.isCancelled { return .end(replacing: request.cancellation) }
                switch answer {
                case .doNotRetry: continue
                case .doNotRetryWithError(let error):
                    return .end(replacing: .retryFailed(error, original: failure))
                case .retry: return try await retry(after: .zero, failure, failed)
                case .retryWithDelay(let seconds):
                    return try await retry(after: .bounded(seconds: seconds), failure, failed)
                }
            }
            return .end(replacing: nil)
        } catch {
            // The retrier or the delay was interrupted: by the cancellation, or the total timeout.
            if request.isCancelled { return .end(replacing: request.cancellation) }
            return .end(replacing: (error as? CurlewError)?.after(failure) ?? .cancelled)
        }
    }

    /// Waits for the delay that a retrier demands, or a longer one if retries come too fast, and makes the request ready
    /// for another attempt.
    private func retry(
        after asked: Duration,
        _ failure: CurlewError,
        _ failed: ContinuousClock.Instant
    ) async throws -> RetryOutcome {
        guard let delay = retries.pacing.pause(asked: asked, after: .now - failed) else {
            return .end(replacing: .retryFailed(CurlewError.tooManyRetries, original: failure))
        }
        guard permitsRetry(after: delay) else { return .end(replacing: nil) }  // Admission.swift
        if delay != .zero {
            guard budget.total == nil || budget.allows(delay, at: .now) else {
                return .end(replacing: CurlewError.totalTimeout(budget.total, phase: .retry).after(failure))
            }
            try await callingUserCode(in: .retry) { try await Task.sleep(for: delay) }
        }
        // Until the delay is over, the old response may still have to be delivered. Its file is dropped only now.
        await dropHeldDownload()
        await request.dropUnplacedFile()
        guard request.prepareForRetry() else { return .end(replacing: request.cancellation) }
        if failure.code != .bodyUnavailable { retries.reason = failure }
        retries.count += 1
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .again
    }
}

extension Request {
    /// The session's retrier, then the request's own.
    var retriers: [any RequestRetrier] {
        let own = record.withLock { $0.extras?.options.retriers ?? [] }
        guard context.hasInterceptor, let interceptor = context.interceptor else { return own }
        return [interceptor] + own
    }

    /// Removes the error that was recorded for retriers, because none wants to replace the response.
    func clearFailure() {
        // The error is released without the lock: it may hold a user's object.
        _ = record.withLock { exchange(&$0.error, with: nil) }
    }

    /// Begins the next attempt without the data of the last one. Returns `false` if the request has been cancelled.
    func prepareForRetry() -> Bool {
        let (isReady, _, _) = record.withLock { record -> (Bool, [Attempt], ReceivedBody?) in
            guard !record.lifecycle.isCancelled else { return (false, [], nil) }
            record.history.beginNextAttempt()
            let body = record.exchange?.withLock { $0.forgetBody() }
            record.handlers.startOver()
            // Retriers and WebSockets may begin attempts without end: only the first and the last ones are kept.
            return (true, record.history.forgetMiddle(), body)
        }
        return isReady
    }
}

extension RunResult {
    /// Adds the cause of the attempt to the error of a body that cannot be sent again.
    fileprivate func explained(by reason: CurlewError) -> RunResult {
        guard var error, error.code == .bodyUnavailable, error.underlying == nil else { return self }
        error.underlying = reason
        return failing(with: error, resumeData: resumeData)
    }
}

extension CurlewError {
    fileprivate static var tooManyRetries: CurlewError {
        CurlewError(
            .limitExceeded,
            phase: .retry,
            reason: "a request is not retried more than \(RetryPacing.limit) times without a delay"
        )
    }

    /// Adds the failure that was to be retried to the error that ended the retries.
    fileprivate func after(_ failure: CurlewError) -> CurlewError {
        var error = self
        if error.underlying == nil { error.underlying = failure }
        if error.responseCode == nil { error.responseCode = failure.responseCode }
        if error.responseBody == nil { error.responseBody = failure.responseBody }
        if error.url == nil { error.url = failure.url }
        if error.attempt == 0 { error.attempt = failure.attempt }
        return error
    }

    static func totalTimeout(_ limit: Duration?, phase: Phase) -> CurlewError {
        CurlewError(.totalTimedOut, phase: phase, reason: timeoutReason(.totalTimedOut, after: limit))
    }
}
