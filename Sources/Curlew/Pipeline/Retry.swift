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
enum RetryOutcome {
    /// Another attempt, which has been prepared.
    case again
    /// No attempt. With `nil`, the failure remains.
    case end(replacing: CurlewError?)
}

/// The decision after an attempt.
enum AfterAttempt {
    /// Another attempt, for which the request has been prepared.
    case again
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
            if attempt.startsOver, !request.isCancelled { return .again }
            next = await askRetriers(about: failure, result)
        } else {
            next = await askRetriersAboutStatus(of: result)
        }
        guard case .end(let last) = next, !request.isCancelled,
            let pause = request.kind.connection?.pauseBeforeReconnecting(after: last)
        else { return next }
        return await reconnect(after: pause, last)
    }

    /// Asks the retriers about a failed attempt.
    func askRetriers(about failure: CurlewError, _ result: RunResult) async -> AfterAttempt {
        switch await decideRetry(after: failure, of: result) {
        case .again: .again
        case .end(replacing: nil): .end(result)
        case .end(replacing: let error?):
            .end(result.failing(with: error, resumeData: request.kind.resumeData?(request)))
        }
    }

    /// Asks the retriers that want to see the status, although the attempt has succeeded.
    private func askRetriersAboutStatus(of result: RunResult) async -> AfterAttempt {
        let held = heldDownload
        guard let status = result.response?.head.status, held != nil || !request.isCancelled
        else { return .end(result) }
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
        case .end(replacing: nil), .end(replacing: CurlewError.Code.totalTimedOut?):
            if let held { return await deliver(held) }
            request.clearFailure()
            return .end(result)
        case .end(replacing: let error?):
            let failed = if let held { await dropped(held) } else { result }
            return .end(failed.failing(with: error, resumeData: request.kind.resumeData?(request)))
        }
    }

    /// Asks the retriers, all or those given, waits for the delay that they demand, and prepares the request for
    /// another attempt.
    func decideRetry(
        after failure: CurlewError,
        of result: RunResult,
        by chosen: [any RequestRetrier]? = nil
    ) async -> RetryOutcome {
        let retriers = chosen ?? request.retriers
        guard !retriers.isEmpty, !request.isCancelled, failure.code != .totalTimedOut,
            !attempt.wouldBeRefusedAgain(result)
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

    /// Waits for the delay that a retrier demands, or a longer one if retries are too frequent, and prepares the
    /// request for another attempt.
    private func retry(
        after asked: Duration,
        _ failure: CurlewError,
        _ failed: ContinuousClock.Instant
    ) async throws -> RetryOutcome {
        guard let delay = retries.pacing.pause(asked: asked, after: .now - failed) else {
            return .end(replacing: .retryFailed(CurlewError.tooManyRetries, original: failure))
        }
        if delay != .zero, budget.total != nil, !budget.allows(delay, at: .now) {
            return .end(replacing: CurlewError.totalTimeout(budget.total, phase: .retry).after(failure))
        }
        guard permitsRetry(after: delay) else { return .end(replacing: nil) }  // Run+Admission.swift
        if delay != .zero { try await callingUserCode(in: .retry) { try await Task.sleep(for: delay) } }
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

/// A download whose response is acceptable, but which a retrier may still replace. Until that is decided, the file at
/// the destination is not changed, and monitors do not hear of the completion.
// A class, so that an absent value costs one pointer in every run.
final class HeldDownload {
    let exchange: Exchange
    let response: LazyResponse?
    let file: any UnplacedFile

    init(_ exchange: Exchange, _ response: LazyResponse?, _ file: any UnplacedFile) {
        self.exchange = exchange
        self.response = response
        self.file = file
    }
}

extension Run {
    /// Whether a retrier names the status of an acceptable response as one to retry.
    func retriersDecide(_ response: LazyResponse?) -> Bool {
        guard attempt.options.hasRetriers, let status = response?.head.status, status != 200 else { return false }
        return request.retriers.contains { $0.retryableHTTPStatusCodes.contains(status) }
    }

    /// Delivers the response of a held download: moves its file to the destination, and ends the exchange. If that
    /// fails, retriers are asked as about any failure.
    func deliver(_ held: HeldDownload) async -> AfterAttempt {
        guard !request.isCancelled else {
            let failed = await dropped(held)
            return .end(failed.failing(with: request.cancellation, resumeData: request.kind.resumeData?(request)))
        }
        request.clearFailure()
        heldDownload = nil
        let (body, failure) = await placed(held.file, of: held.exchange, nil)
        let error = failure.map { located($0, held.exchange, held.response, .none) }
        if let events { emitCompletion(error, to: events) }
        let result = makeResult(of: held.exchange, held.response, body, error)
        guard let error else { return .end(result) }
        return await askRetriers(about: error, result)
    }

    /// Removes the file of the held download, if there is one, and ends its exchange.
    func dropHeldDownload() async {
        guard let held = Swift.exchange(&heldDownload, with: nil) else { return }
        _ = try? await held.file.place(ifAccepted: false)
        _ = held.exchange.state.withLock { $0.replaceBody(by: .none) }
        if let events { emitCompletion(nil, to: events) }
    }

    /// Removes the file of the download, and returns its result without a body.
    func dropped(_ held: HeldDownload) async -> RunResult {
        await dropHeldDownload()
        return makeResult(of: held.exchange, held.response, .none, nil)
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
        if let total = budget.total {
            budget = TimeoutBudget(total: RequestDeadline.bound(total) ?? total, started: .now)
        }
        request.eventSink?.emit { [request] in $0.requestIsRetrying(request) }
        return .again
    }
}
