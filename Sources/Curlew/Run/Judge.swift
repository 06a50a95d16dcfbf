internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Ends an attempt: closes the body, validates the response and notifies monitors.
    func judge(_ exchange: Exchange, failure: CurlewError?) async -> RunResult {
        var error = failure
        let metrics = exchange.mayLeadOn ? nil : exchange.metrics
        let ended: EndedExchange
        while true {
            if let end = request.exchangeEnded(metrics, isDecided: error != nil) {
                ended = end
                break
            }
            // The response was held back and is delivered after all, or the user's decision about its head is still
            // awaited.
            do throws(CurlewError) { try await exchange.delegate.untilAnswered(within: budget) } catch let failure {
                error = failure
            }
        }
        if ended.isCancelled { error = request.cancellation }
        if let error, isEarly(error, ended) { emitEarlyFailure(error) }
        let collected: CollectedBody
        if let there = exchange.delegate.collected(error, ended) {
            collected = there
        } else {
            collected = await exchange.delegate.closed(error, ended)
        }
        // Stored before validations run, which may ask the request for the file.
        if let place = collected.body { request.keep(place) }
        emitEnd(of: exchange, collected.error)
        var body = collected.body ?? ended.body
        var isErrorOfTerminal = false
        (error, isErrorOfTerminal) = validated(ended, collected, body, exchange.hop.visible)
        if let file = collected.file {
            // A response that will be retried must not replace the file at the destination.
            if error == nil, isForRetriers(ended.response) {
                heldDownload = HeldDownload(exchange, ended.response, body, file)
                return result(of: exchange, ended.response, body, nil)
            }
            // The excerpt for the error is read before the file is removed.
            error = error.map { explained($0, exchange, ended.response, body) }
            (body, error) = await settled(file, error)
        }
        let final = error.map { located($0, exchange, ended.response, body) }
        emitCompletion(final)
        return result(of: exchange, ended.response, body, final, isErrorOfTerminal: isErrorOfTerminal)
    }

    func result(
        of exchange: Exchange,
        _ response: LazyResponse?,
        _ body: ReceivedBody,
        _ error: CurlewError?,
        isErrorOfTerminal: Bool = false
    ) -> RunResult {
        RunResult(
            request: exchange.hop.visible,
            response: response,
            metrics: exchange.metrics,
            body: body,
            error: error,
            isErrorOfTerminal: isErrorOfTerminal,
            resumeData: request.producedResumeData,
            sensitiveHeaders: request.context.configuration.redirects.sensitiveHeaders
        )
    }

    /// Moves the file to its destination, or removes it because of an error. Returns the body and the first error.
    func settled(_ file: any UnsettledFile, _ error: CurlewError?) async -> (ReceivedBody, CurlewError?) {
        var (body, first) = (ReceivedBody.none, error)
        do throws(CurlewError) { body = try await file.settle(accepted: error == nil) } catch { first = first ?? error }
        request.keep(body)
        return (body, first)
    }

    /// Returns the result of an attempt that failed outside of an exchange.
    func failed(with error: CurlewError) -> RunResult {
        var error = error
        if request.isCancelled { error = request.cancellation }
        let visible = request.record.withLock { $0.history.lastRequest }
        error.url = request.urlInErrors(error.url ?? visible?.url)
        error.attempt = attempt.number
        return RunResult(
            request: visible,
            error: error,
            resumeData: request.producedResumeData,
            sensitiveHeaders: request.context.configuration.redirects.sensitiveHeaders
        )
    }

    /// Returns the first error, and whether only an awaiting method treats it as one. The order is: the exchange's
    /// error, the request's validations, the status.
    private func validated(
        _ ended: EndedExchange,
        _ collected: CollectedBody,
        _ body: ReceivedBody,
        _ visible: VisibleRequest
    ) -> (CurlewError?, Bool) {
        switch collected.verdict {
        case .open: break
        case .accepted: if !request.isCancelled { return (collected.error, false) }
        // The body of a rejected response is not read to its end; the rejection is the error, not the missing rest.
        case .rejected(let error, let byTerminal): if !request.isCancelled { return (error, byTerminal) }
        }
        guard collected.error == nil, let response = ended.response else { return (collected.error, false) }
        guard !ended.validations.isEmpty else {
            guard rules.checksStatus, !ended.acceptsAnyStatus else { return (nil, false) }
            return (StatusCheck.error(for: response, to: visible.method, body: body), true)
        }
        let seen = visible.urlRequest
        for validation in ended.validations {
            if let error = validation(request, seen, response, body) { return (error, false) }
        }
        // A validation may have cancelled the request.
        return (request.isCancelled ? request.cancellation : nil, false)
    }

    /// Adds the URL, the attempt, the metrics and the status to an error.
    func located(
        _ error: CurlewError,
        _ exchange: Exchange,
        _ response: LazyResponse?,
        _ body: ReceivedBody
    ) -> CurlewError {
        var error = explained(error, exchange, response, body)
        error.url = request.urlInErrors(error.url ?? exchange.hop.visible.url)
        if error.attempt == 0 { error.attempt = attempt.number }
        // The transport's limit was the time that earlier attempts had left; the error names the whole.
        if error.code == .totalTimedOut, let total = budget.total {
            error.reason = CurlewError.timeoutReason(.totalTimedOut, after: total)
        }
        // The transport only knows the last exchange: an earlier one may have been carried out by the server.
        if !attempt.hops.isEmpty, error.isSafeToRetry, request.wasCarriedOut { error.isSafeToRetry = false }
        error.nameUnpinnedKey()
        error.metrics = exchange.metrics
        if error.responseCode == nil { error.responseCode = response?.head.status }
        return error
    }

    /// Adds the beginning of the body to a validation error.
    private func explained(
        _ error: CurlewError,
        _ exchange: Exchange,
        _ response: LazyResponse?,
        _ body: ReceivedBody
    ) -> CurlewError {
        guard error.phase == .validation else { return error }
        var error = error
        StatusCheck.explain(&error, response, to: exchange.hop.visible.method, body: body)
        return error
    }

    /// Whether Curlew ended the exchange, and not its peer: the body was not wanted, or the peer was not trusted.
    private func isEarly(_ error: CurlewError, _ ended: EndedExchange) -> Bool {
        if request.isCancelled { return false }
        switch error.code {
        case .certificateUntrusted, .certificateExpired, .certificateHostMismatch, .certificateRevoked,
            .limitExceeded:
            return true
        default: return ended.wasAborted
        }
    }

    // MARK: Events

    private func emitEarlyFailure(_ error: CurlewError) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emit { $0.request(request, didChangeTask: task, to: .failed(error)) }
    }

    private func emitEnd(of exchange: Exchange, _ error: CurlewError?) {
        guard let events else { return }
        let (request, task, metrics) = (request, task, exchange.metrics)
        emitStep(metrics)
        events.emit { $0.request(request, didGatherMetrics: metrics) }
        events.emitExchange { $0.request(request, task: task, didCompleteWithError: error) }
    }

    func emitCompletion(_ error: CurlewError?) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emit { $0.request(request, didCompleteTask: task, with: error) }
    }
}
