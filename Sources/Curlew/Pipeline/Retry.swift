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

/// The answer of all retriers to one failure.
enum RetryVerdict {
    /// Another attempt follows, for which the request has been prepared.
    case retry
    /// No attempt follows. With `nil`, the failure remains.
    case doNotRetry(replacing: CurlewError?)
}

/// The run's next step after an attempt, which the retriers, a WebSocket or a download that starts over decide.
enum AfterAttempt {
    /// Another attempt follows, for which the request has been prepared.
    case nextAttempt
    /// The run ends with this result.
    case end(RunResult)
}

// The outer loop: retriers are asked about whole attempts, and do not see redirects.
extension Run {
    /// Asks the retriers whether another attempt follows, and prepares the request for it.
    func retryOrEnd(after tried: RunResult) async -> AfterAttempt {
        let result = retries.reason.map { tried.explained(by: $0) } ?? tried
        let next: AfterAttempt
        if let failure = result.error {
            if attempt.startsOver, !request.isCancelled { return .nextAttempt }
            next = await askRetriers(about: failure, result)
        } else {
            next = await askRetriersAboutStatus(of: result)
        }
        guard case .end(let last) = next, !request.isCancelled,
            let pause = request.kind.webSocket?.pauseBeforeReconnecting(after: last)
        else { return next }
        return await reconnect(after: pause, last)
    }

    /// Asks the retriers about a failed attempt.
    func askRetriers(about failure: CurlewError, _ result: RunResult) async -> AfterAttempt {
        switch await retryIfWanted(after: failure, of: result) {
        case .retry: .nextAttempt
        case .doNotRetry(replacing: nil): .end(result)
        case .doNotRetry(replacing: let error?):
            .end(result.failing(with: error, resumeData: request.kind.resumeData?(request)))
        }
    }

    /// Asks the retriers that want to see the status, although the attempt has succeeded.
    private func askRetriersAboutStatus(of result: RunResult) async -> AfterAttempt {
        let undecided = undecidedDownload
        guard let status = result.response?.head.status, undecided != nil || !request.isCancelled
        else { return .end(result) }
        // Bytes that the reader of a stream has received cannot be taken back.
        if case .streamed = result.body { return .end(result) }
        let retriers = request.retriers.filter { $0.retryableHTTPStatusCodes.contains(status) }
        guard undecided != nil || !retriers.isEmpty else { return .end(result) }
        var failure = CurlewError.unacceptableStatus(status)
        failure.url = result.response?.url
        failure.attempt = attempt.number
        switch await retryIfWanted(after: failure, of: result, by: retriers) {
        case .retry: return .nextAttempt
        // If there is no time for another attempt, the response is delivered.
        case .doNotRetry(replacing: nil), .doNotRetry(replacing: CurlewError.Code.totalTimedOut?):
            if let undecided { return await deliver(undecided) }
            request.clearFailure()
            return .end(result)
        case .doNotRetry(replacing: let error?):
            let failed = if let undecided { await dropped(undecided) } else { result }
            return .end(failed.failing(with: error, resumeData: request.kind.resumeData?(request)))
        }
    }

    /// Asks the retriers, all or those given, waits for the delay that they demand, and prepares the request for
    /// another attempt.
    func retryIfWanted(
        after failure: CurlewError,
        of result: RunResult,
        by chosen: [any RequestRetrier]? = nil
    ) async -> RetryVerdict {
        let retriers = chosen ?? request.retriers
        guard !retriers.isEmpty, !request.isCancelled, failure.code != .totalTimedOut,
            !attempt.wouldBeRefusedAgain(result)
        else { return .doNotRetry(replacing: nil) }
        let failed = ContinuousClock.now
        request.recordFailure(failure)
        guard request.kind.reader?.allowsAnotherAttempt(of: request) ?? true else { return .doNotRetry(replacing: nil) }
        do {
            for retrier in retriers {
                let (request, session) = (request, session)
                let answer = try await callingUserCode(in: .retry) {
                    await retrier.retry(request, for: session, dueTo: failure)
                }
                if request.isCancelled { return .doNotRetry(replacing: request.cancellation) }
                switch answer {
                case .doNotRetry: continue
                case .doNotRetryWithError(let error):
                    return .doNotRetry(replacing: .retryFailed(error, original: failure))
                case .retry: return try await prepareRetry(after: .zero, failure, failed)
                case .retryWithDelay(let seconds):
                    return try await prepareRetry(after: .bounded(seconds: seconds), failure, failed)
                }
            }
            return .doNotRetry(replacing: nil)
        } catch {
            // The retrier or the delay was interrupted: by the cancellation, or the total timeout.
            if request.isCancelled { return .doNotRetry(replacing: request.cancellation) }
            return .doNotRetry(replacing: (error as? CurlewError)?.after(failure) ?? .cancelled)
        }
    }

    /// Waits for the delay that a retrier demands, or a longer one if retries are too frequent, and prepares the
    /// request for another attempt.
    private func prepareRetry(
        after asked: Duration,
        _ failure: CurlewError,
        _ failed: ContinuousClock.Instant
    ) async throws -> RetryVerdict {
        guard let delay = retries.pacing.pause(asked: asked, after: .now - failed) else {
            return .doNotRetry(replacing: .retryFailed(CurlewError.tooManyRetries, original: failure))
        }
        if let timeout = budget.refusal(ofPause: delay) { return .doNotRetry(replacing: timeout.after(failure)) }
        guard permitsRetry(after: delay) else { return .doNotRetry(replacing: nil) }  // Run+Admission.swift
        if delay != .zero { try await callingUserCode(in: .retry) { try await Task.sleep(for: delay) } }
        // Until the delay is over, the old response may still have to be delivered. Its file is dropped only now.
        await dropUndecidedDownload()
        await request.dropUnplacedFile()
        guard request.prepareForRetry() else { return .doNotRetry(replacing: request.cancellation) }
        if failure.code != .bodyUnavailable { retries.reason = failure }
        retries.count += 1
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .retry
    }
}

extension Request {
    /// The session's retrier, then the request's own.
    var retriers: [any RequestRetrier] {
        let own = record.withLock { $0.extras?.options.retriers ?? [] }
        guard let interceptor = context.interceptor else { return own }
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
            return (true, record.history.removeMiddleAttempts(), body)
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
}

// MARK: The connections of a WebSocket

// Each connection is an attempt. Another one may follow a success too, unlike a retry.
extension Run {
    /// Waits, and prepares the request for another connection. The reason and the pacing of earlier retries are reset;
    /// their number is not. The run ends with `result` if the request was cancelled.
    private func reconnect(after pause: Duration, _ result: RunResult) async -> AfterAttempt {
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
        if budget.total != nil { budget = RequestDeadline.bound(attempt.options.totalTimeout) }
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .nextAttempt
    }
}
