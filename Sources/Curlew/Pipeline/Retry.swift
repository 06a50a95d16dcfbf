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

/// The decision after a failure.
enum RetryVerdict {
    case again
    /// The failure remains.
    case end
    case endWith(CurlewError)
}

/// The decision after an attempt.
enum AttemptVerdict {
    case again
    case end(RunResult)
}

// The outer loop: retriers are asked about whole attempts, and do not see redirects.
extension Run {
    /// Whether another attempt may follow. A retrier may refuse a status that the awaiting method accepts.
    func mayBeReplaced(_ result: RunResult) -> Bool {
        if result.error != nil || request.kind.opensWebSocket { return true }
        return attempt.options.hasRetriers && result.response?.head.status != 200
    }

    func verdict(on tried: RunResult) async -> AttemptVerdict {
        let verdict = await askRetriers(about: tried)
        guard case .end(let result) = verdict, !request.isCancelled,
            let pause = request.kind.connection?.pauseBeforeReconnecting(after: result)
        else { return verdict }
        return await reconnect(after: pause, result)
    }

    private func askRetriers(about tried: RunResult) async -> AttemptVerdict {
        let result = retries.reason.map { tried.explained(by: $0) } ?? tried
        guard let failure = result.error else { return await askAboutStatus(of: result) }
        if attempt.startsOver, !request.isCancelled { return .again }
        return await askAboutFailure(failure, of: result)
    }

    private func askAboutFailure(_ failure: CurlewError, of result: RunResult) async -> AttemptVerdict {
        switch await decideRetry(after: failure, of: result) {
        case .again: return .again
        case .end: return .end(result)
        case .endWith(let error): return .end(result.failing(with: error, resumeData: request.producedResumeData))
        }
    }

    /// Asks the retriers that want to see the status, although the attempt has succeeded.
    private func askAboutStatus(of result: RunResult) async -> AttemptVerdict {
        let held = heldDownload
        guard let status = result.response?.head.status, held != nil || !request.isCancelled else {
            return .end(result)
        }
        // Bytes that the reader of a stream has received cannot be taken back.
        if case .streamed = result.body { return .end(result) }
        let retriers = request.retriers.filter { $0.retryableHTTPStatusCodes.contains(status) }
        guard held != nil || !retriers.isEmpty else { return .end(result) }
        var failure = CurlewError.unacceptableStatus(status)
        failure.url = result.response?.url
        failure.attempt = attempt.number
        switch await decideRetry(after: failure, of: result, by: retriers) {
        case .again: return .again
        // If there is no time for another attempt, the response is delivered.
        case .end, .endWith(CurlewError.Code.totalTimedOut):
            guard let held else {
                request.clearFailure()
                return .end(result)
            }
            return await deliver(held)
        case .endWith(let error):
            let failed = if let held { await dropped(held) } else { result }
            return .end(failed.failing(with: error, resumeData: request.producedResumeData))
        }
    }

    /// Delivers the response of a held download: moves its file to the destination. If that fails, retriers are asked
    /// as about any failure.
    private func deliver(_ held: HeldDownload) async -> AttemptVerdict {
        guard !request.isCancelled else {
            let failed = await dropped(held)
            return .end(failed.failing(with: request.cancellation, resumeData: request.producedResumeData))
        }
        request.clearFailure()
        let result = await deliverFile(of: held)
        guard let failure = result.error else { return .end(result) }
        return await askAboutFailure(failure, of: result)
    }

    /// Asks the retriers, waits for the delay that they demand, and makes the request ready for another attempt.
    func decideRetry(after failure: CurlewError, of result: RunResult) async -> RetryVerdict {
        await decideRetry(after: failure, of: result, by: request.retriers)
    }

    private func decideRetry(
        after failure: CurlewError,
        of result: RunResult,
        by retriers: [any RequestRetrier]
    ) async -> RetryVerdict {
        guard !retriers.isEmpty, !request.isCancelled, failure.code != .totalTimedOut,
            !attempt.isFinal(result)
        else { return .end }
        let failed = ContinuousClock.now
        request.recordFailure(failure)
        guard request.kind.reader?.allowsAnotherAttempt(of: request) ?? true else { return .end }
        for retrier in retriers {
            let answer: RetryResult
            do {
                let (request, session) = (request, session)
                answer = try await callingUserCode(in: .retry) {
                    await retrier.retry(request, for: session, dueTo: failure)
                }
            } catch {
                return interrupted(by: error, after: failure)
            }
            if request.isCancelled { return .endWith(request.cancellation) }
            switch answer {
            case .doNotRetry: continue
            case .doNotRetryWithError(let retryError):
                return .endWith(.retryFailed(retryError, original: failure))
            case .retry: return await retry(after: .zero, failure, failed)
            case .retryWithDelay(let seconds): return await retry(after: .bounded(seconds: seconds), failure, failed)
            }
        }
        return .end
    }

    private func retry(
        after asked: Duration,
        _ failure: CurlewError,
        _ failed: ContinuousClock.Instant
    ) async -> RetryVerdict {
        guard let delay = retries.pacing.pause(asked: asked, after: .now - failed) else {
            return .endWith(.retryFailed(CurlewError.tooManyRetries, original: failure))
        }
        guard delay != .zero else { return await prepareRetry(after: failure) }
        guard budget.total == nil || budget.allows(delay, at: .now) else {
            return .endWith(CurlewError.totalTimeout(budget.total, phase: .retry).after(failure))
        }
        do {
            try await callingUserCode(in: .retry) { try await Task.sleep(for: delay) }
        } catch {
            return interrupted(by: error, after: failure)
        }
        return await prepareRetry(after: failure)
    }

    private func prepareRetry(after failure: CurlewError) async -> RetryVerdict {
        // Until the delay is over, the old response may still have to be delivered. Its file is dropped only now.
        await dropHeldDownload()
        await request.dropUnplacedFile()
        guard request.prepareForRetry() else { return .endWith(request.cancellation) }
        if failure.code != .bodyUnavailable { retries.reason = failure }
        retries.count += 1
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .again
    }

    private func interrupted(by error: any Error, after failure: CurlewError) -> RetryVerdict {
        if request.isCancelled { return .endWith(request.cancellation) }
        guard let error = error as? CurlewError else { return .endWith(.cancelled) }
        return .endWith(error.after(failure))
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

// MARK: Reconnecting

extension Run {
    /// Waits, and makes the request ready for another connection. The reason and the pacing of earlier retries are
    /// reset; their number is not.
    func reconnect(after pause: Duration, _ result: RunResult) async -> AttemptVerdict {
        do {
            // The total timeout limits each attempt to connect, not the pauses between connections.
            try await request.callingUserCode(ownsTask: ownsTask, budget: .unlimited, in: .retry) {
                try await Task.sleep(for: pause)
            }
        } catch {
            return .end(result.failing(with: request.cancellation, resumeData: nil))
        }
        if let error = result.error { request.recordFailure(error) }
        guard request.prepareForRetry() else {
            return .end(result.failing(with: request.cancellation, resumeData: nil))
        }
        retries = RetryHistory(count: retries.count + 1)
        if let total = budget.total { budget = TimeoutBudget(total: total, started: .now) }
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .again
    }
}
