internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// The end of an attempt: its body is closed, its response validated, its monitors told.
    func judge(_ exchange: Exchange, failure: CurlewError?) async -> RunResult {
        let delegate = exchange.delegate
        var error = failure
        if error == nil { error = await untilAnswered(exchange) }
        if request.isCancelled { error = request.cancellation }
        if let error, endedEarly(error, delegate) { emitEarlyFailure(error) }
        let kept: KeptResponse
        (kept, error) = await closeBody(of: delegate, error)
        emitEnd(of: exchange, error)
        var body = kept.body
        var isErrorOfTerminal = false
        (error, isErrorOfTerminal) = validated(kept, delegate, exchange.hop.visible, error)
        if delegate.hasToSettle {
            do throws(CurlewError) {
                body = try await delegate.settle(accepted: error == nil, body: body)
            } catch let failure {
                error = error ?? failure
            }
            request.keep(body)
        }
        let final = error.map { located($0, exchange, kept.response, body) }
        emitCompletion(final)
        return RunResult(
            request: exchange.hop.visible,
            response: kept.response,
            metrics: exchange.metrics,
            body: body,
            error: final,
            isErrorOfTerminal: isErrorOfTerminal,
            resumeData: request.producedResumeData
        )
    }

    /// An attempt that ended outside of an exchange.
    func failed(with error: CurlewError) -> RunResult {
        var error = error
        if request.isCancelled { error = request.cancellation }
        let visible = request.record.withLock { $0.history.requests.last }
        if error.url == nil { error.url = visible?.url }
        error.attempt = attempt.number
        return RunResult(request: visible, error: error, resumeData: request.producedResumeData)
    }

    /// Waits for those who were asked about the head, and takes a response that was held back as the answer.
    private func untilAnswered(_ exchange: Exchange) async -> CurlewError? {
        let delegate = exchange.delegate
        do throws(CurlewError) {
            if delegate.isHoldingBack { try await delegate.takeDetourAsAnswer(within: budget) }
            if delegate.isUnanswered { try await delegate.untilAnswered(within: budget) }
            return nil
        } catch {
            return error
        }
    }

    private func closeBody(of delegate: TaskDelegate, _ error: CurlewError?) async -> (KeptResponse, CurlewError?) {
        switch await delegate.finish(error) {
        // Validations may ask the request for it.
        case .success(let received): return (request.keep(received), error)
        case .failure(let failure): return (request.record.withLock { KeptResponse($0) }, failure)
        }
    }

    /// The first error, and whether only the driver's terminal finds it one: the exchange's own, that of the request's
    /// validations in their order, or that of the status.
    private func validated(
        _ kept: KeptResponse,
        _ delegate: TaskDelegate,
        _ visible: VisibleRequest,
        _ error: CurlewError?
    ) -> (CurlewError?, Bool) {
        if let (rejection, isTerminals) = delegate.verdict, !request.isCancelled {
            // A rejected body is not read to its end: that is no error beside the rejection.
            return rejection.map { ($0, isTerminals) } ?? (error, false)
        }
        guard error == nil, let response = kept.response else { return (error, false) }
        guard !kept.validations.isEmpty else {
            guard rules.checksStatus, !kept.acceptsAnyStatus else { return (nil, false) }
            return (StatusCheck.error(for: response, body: kept.body), true)
        }
        let seen = visible.urlRequest
        for validation in kept.validations {
            if let error = validation(request, seen, response, kept.body) { return (error, false) }
        }
        return (nil, false)
    }

    /// Says where and when it happened.
    private func located(
        _ error: CurlewError,
        _ exchange: Exchange,
        _ response: LazyResponse?,
        _ body: ReceivedBody
    ) -> CurlewError {
        var error = error
        if error.url == nil { error.url = exchange.hop.visible.url }
        if error.attempt == 0 { error.attempt = attempt.number }
        error.metrics = exchange.metrics
        if error.responseCode == nil { error.responseCode = response?.head.status }
        if error.phase == .validation, error.responseBody == nil { error.responseBody = StatusCheck.excerpt(of: body) }
        return error
    }

    /// Whether Curlew ended the exchange, not its peer: what came was not wanted, or the peer was not trusted.
    private func endedEarly(_ error: CurlewError, _ delegate: TaskDelegate) -> Bool {
        if request.isCancelled { return false }
        switch error.code {
        case .certificateUntrusted, .certificateExpired, .certificateHostMismatch, .certificateRevoked,
            .limitExceeded:
            return true
        default: return delegate.hasAborted
        }
    }

    // MARK: Events

    private func emitEarlyFailure(_ error: CurlewError) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emitLeading { $0.request(request, didFailTask: task, earlyWithError: error) }
    }

    private func emitEnd(of exchange: Exchange, _ error: CurlewError?) {
        guard let events else { return }
        let (request, task, metrics) = (request, task, exchange.metrics)
        emitStep(metrics)
        events.emitLeading(.gatheredMetrics) { { $0.request(request, didGatherMetrics: metrics) } }
        events.emitExchange(.endedExchange) {
            let reference = request.sessionReference
            return { $0.urlSession(reference, task: task, didCompleteWithError: error) }
        }
    }

    private func emitCompletion(_ error: CurlewError?) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emitLeading(.completedTask) { { $0.request(request, didCompleteTask: task, with: error) } }
    }
}
