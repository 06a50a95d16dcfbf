internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The end of a try: its body is closed, its response validated, its monitors told.
extension Attempt {
    func concluded(
        _ failure: CurlewError?,
        _ delegate: TaskDelegate,
        _ sent: SentRequest,
        _ metrics: TransferMetrics
    ) async -> RunResult {
        var error = failure
        if error == nil, delegate.isUnanswered {
            do throws(CurlewError) { try await delegate.untilAnswered(within: budget) } catch let failure {
                error = failure
            }
        }
        if request.isCancelled { error = request.cancellation }
        if let error, failedEarly(error, delegate) { emitEarlyFailure(error) }
        let finished: Result<ReceivedBody, CurlewError>
        // Called only where there is something to wait for.
        if let now = delegate.finishAtOnce(error) { finished = now } else { finished = await delegate.finish(error) }
        // Validations may ask the request for it.
        let kept: KeptResponse
        switch finished {
        case .success(let received): kept = request.keep(received)
        case .failure(let failure):
            error = failure
            kept = request.record.withLock { KeptResponse($0) }
        }
        var body = kept.body
        let response = kept.response
        emitMetrics(metrics, error)
        var isErrorOfTerminal = false
        if let verdict = delegate.verdict, !request.isCancelled {
            // A rejected body is not read to its end: that is no error beside the rejection.
            if let rejection = verdict.0 { (error, isErrorOfTerminal) = (rejection, verdict.1) }
        } else if error == nil, let response {
            (error, isErrorOfTerminal) = validate(response, kept, sent)
        }
        if delegate.hasToSettle {
            do throws(CurlewError) {
                body = try await delegate.settle(accepted: error == nil, body: body)
            } catch let failure {
                error = error ?? failure
            }
            request.keep(body)
        }
        let final = error.map { complete($0, sent, metrics, response, body) }
        emitEnd(final)
        return RunResult(
            request: sent,
            response: response,
            metrics: metrics,
            body: body,
            error: final,
            isErrorOfTerminal: isErrorOfTerminal,
            resumeData: request.producedResumeData
        )
    }

    /// The request's own validation in its order, the first failure wins; otherwise what the terminal wants.
    private func validate(
        _ response: LazyResponse,
        _ kept: KeptResponse,
        _ sent: SentRequest
    ) -> (CurlewError?, Bool) {
        let validations = kept.validations
        let seen = validations.isEmpty ? nil : sent.urlRequest
        for validation in validations {
            if let error = validation(request, seen, response, kept.body) { return (error, false) }
        }
        guard validations.isEmpty, !kept.acceptsAnyStatus, rules.checksStatus else { return (nil, false) }
        return (StatusCheck.error(for: response, body: kept.body), true)
    }

    /// Says where and when it happened.
    private func complete(
        _ error: CurlewError,
        _ sent: SentRequest,
        _ metrics: TransferMetrics,
        _ response: LazyResponse?,
        _ body: ReceivedBody
    ) -> CurlewError {
        var error = error
        if error.url == nil { error.url = sent.url }
        if error.attempt == 0 { error.attempt = number }
        error.metrics = metrics
        if error.responseCode == nil { error.responseCode = response?.head.status }
        if error.phase == .validation, error.responseBody == nil { error.responseBody = StatusCheck.excerpt(of: body) }
        return error
    }

    /// Whether Curlew ended the exchange, not its peer: what came was not wanted, or the peer was not trusted.
    private func failedEarly(_ error: CurlewError, _ delegate: TaskDelegate) -> Bool {
        if request.isCancelled { return false }
        switch error.code {
        case .certificateUntrusted, .certificateExpired, .certificateHostMismatch, .certificateRevoked,
            .limitExceeded:
            return true
        default: return delegate.hasAborted
        }
    }

    private func emitEarlyFailure(_ error: CurlewError) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emitLeading { $0.request(request, didFailTask: task, earlyWithError: error) }
    }

    private func emitMetrics(_ metrics: TransferMetrics, _ error: CurlewError?) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emitExchange(.collectedMetrics) {
            let reference = request.sessionReference
            return { $0.urlSession(reference, task: task, didFinishCollecting: metrics) }
        }
        events.emitLeading(.gatheredMetrics) { { $0.request(request, didGatherMetrics: metrics) } }
        events.emitExchange(.endedExchange) {
            let reference = request.sessionReference
            return { $0.urlSession(reference, task: task, didCompleteWithError: error) }
        }
    }

    private func emitEnd(_ error: CurlewError?) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emitLeading(.completedTask) { { $0.request(request, didCompleteTask: task, with: error) } }
    }
}

/// What terminals demand of a status, and what they show of a response that they reject.
enum StatusCheck {
    private static let excerptLimit = 64 * 1024

    /// nil where the status is acceptable.
    static func error(for response: LazyResponse, body: ReceivedBody) -> CurlewError? {
        let status = response.head.status
        guard !ResponseValidation.acceptableStatusCodes.contains(status) else { return nil }
        var error = ResponseValidation.unacceptable(status)
        error.url = response.url
        error.responseBody = excerpt(of: body)
        return error
    }

    /// The body's beginning.
    static func excerpt(of body: ReceivedBody) -> Data? {
        switch body {
        case .none, .streamed: return nil
        case .data(let data): return data.prefix(excerptLimit)
        case .file(let url):
            guard let file = try? FileHandle(forReadingFrom: url) else { return nil }
            defer { try? file.close() }
            return try? file.read(upToCount: excerptLimit)
        }
    }
}
