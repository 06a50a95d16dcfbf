internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The rules by which a request accepts a response, read when the exchange has ended.
private typealias AcceptanceRules = (validations: [RequestOptions.Validation], acceptsAnyStatus: Bool)

extension Run {
    /// Ends an attempt: closes the body, validates the response and notifies monitors. With `refusal`, the response can
    /// be neither followed nor delivered.
    func finish(_ exchange: Exchange, refusing refusal: CurlewError? = nil) async -> RunResult {
        var error = refusal ?? exchange.failure
        let ending: ExchangeState.Ending
        if let (decided, _) = exchange.state.withLock({ $0.endIfDecided(exchange.trailers) }) {
            ending = decided
        } else {
            if error == nil {
                do throws(CurlewError) { try await exchange.decideDelivery() } catch let failure { error = failure }
            }
            // After this, no delegate can begin.
            if let decision = exchange.state.withLock({ $0.decision }) { await decision.expire() }
            (ending, _) = exchange.state.withLock { $0.end(exchange.trailers) }
        }
        let response = ending.response
        error = error ?? ending.refusal
        let (isCancelled, rules) = request.record.withLock { record -> (Bool, AcceptanceRules) in
            // `followUp` has recorded the metrics of other exchanges.
            if exchange.followable == nil, let metrics = exchange.metrics {
                record.history.attempt.collectedMetrics.append(metrics)
            }
            let own = record.extras
            let rules: AcceptanceRules = (own?.options.validations ?? [], own?.options.acceptsAnyStatus == true)
            return (record.lifecycle.isCancelled, rules)
        }
        if isCancelled { error = request.cancellation }
        if let error, isEarly(error, ending.wasAborted) { emitEarlyFailure(error) }
        let collected = await ending.delegate?.close(error, of: exchange) ?? CollectedBody(error: error)
        // Set before validations run, because they may ask the request for the file.
        _ = exchange.state.withLock { $0.close(with: collected.body) }
        if let events { emitEnd(of: exchange, collected.error, to: events) }
        var body = collected.body
        var isStatusCheckOnly = false
        (error, isStatusCheckOnly) = validated(response, rules, collected, exchange.outgoing.snapshot)
        if let file = collected.file {
            // A response that will be retried must not replace the file at the destination.
            if error == nil, retriersDecide(response) {
                heldDownload = HeldDownload(exchange, response, file)
                return makeResult(of: exchange, response, body, nil)
            }
            // The excerpt for the error is read before the file is removed.
            error = error.map { explained($0, exchange, response, body) }
            (body, error) = await placed(file, of: exchange, error)
        }
        let final = error.map { located($0, exchange, response, body) }
        if let events { emitCompletion(final, to: events) }
        attempt.startsOver = collected.startsOver
        return makeResult(of: exchange, response, body, final, isStatusCheckOnly: isStatusCheckOnly)
    }

    func makeResult(
        of exchange: Exchange,
        _ response: LazyResponse?,
        _ body: ReceivedBody,
        _ error: CurlewError?,
        isStatusCheckOnly: Bool = false
    ) -> RunResult {
        RunResult(
            request: exchange.outgoing.snapshot,
            response: response,
            trailers: response == nil ? nil : exchange.trailers.map(TrailerFields.permitted),
            metrics: exchange.metrics,
            body: body,
            error: error,
            isStatusChecked: checksStatus,
            isStatusCheckOnly: isStatusCheckOnly,
            resumeData: request.kind.resumeData?(request),
            sensitiveHeaders: request.context.configuration.redirects.sensitiveHeaders
        )
    }

    /// Moves the file to its destination, or removes it because of an error. Returns the body and the first error.
    func placed(
        _ file: any UnplacedFile,
        of exchange: Exchange,
        _ error: CurlewError?
    ) async -> (ReceivedBody, CurlewError?) {
        var (body, first) = (ReceivedBody.none, error)
        do throws(CurlewError) { body = try await file.place(ifAccepted: error == nil) } catch {
            first = first ?? error
        }
        _ = exchange.state.withLock { $0.replaceBody(by: body) }
        return (body, first)
    }

    /// Returns the result of an attempt that failed outside of an exchange.
    func failed(with error: CurlewError) -> RunResult {
        var error = error
        if request.isCancelled { error = request.cancellation }
        // Closes the last exchange, if the one that was to follow it could not begin. Its parts are released without
        // the lock.
        _ = request.record.withLock { $0.exchange?.withLock { $0.close(with: $0.body) } }
        let visible = request.record.withLock { $0.history.lastRequest }
        error.url = request.asGiven(error.url ?? visible?.url)
        error.attempt = attempt.number
        return RunResult(
            request: visible,
            error: error,
            resumeData: request.kind.resumeData?(request),
            sensitiveHeaders: request.context.configuration.redirects.sensitiveHeaders
        )
    }

    /// Returns the first error, and whether only an awaiting method treats it as one. The order is: the exchange's
    /// error, the request's validations, the status.
    private func validated(
        _ response: LazyResponse?,
        _ rules: AcceptanceRules,
        _ collected: CollectedBody,
        _ visible: RequestSnapshot
    ) -> (CurlewError?, Bool) {
        switch collected.verdict {
        case .open: break
        case .accepted: if !request.isCancelled { return (collected.error, false) }
        // The body of a rejected response is not read to its end; the rejection is the error, not the missing rest.
        case .rejected(let error, let isStatusCheckOnly): if !request.isCancelled { return (error, isStatusCheckOnly) }
        }
        guard collected.error == nil, let response else { return (collected.error, false) }
        guard !rules.validations.isEmpty else {
            let isAcceptable = ResponseValidation.acceptableStatusCodes.contains(response.head.status)
            guard checksStatus, !rules.acceptsAnyStatus, !isAcceptable else { return (nil, false) }
            return (StatusCheck.error(for: response, to: visible.method, body: collected.body), true)
        }
        let seen = visible.urlRequest
        for validation in rules.validations {
            if let error = validation(request, seen, response, collected.body) { return (error, false) }
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
        error.url = request.asGiven(error.url ?? exchange.outgoing.snapshot.url)
        if error.attempt == 0 { error.attempt = attempt.number }
        // The error names the whole timeout, because the transport only knew the remaining time.
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
        StatusCheck.explain(&error, response, to: exchange.outgoing.snapshot.method, body: body)
        return error
    }

    /// Whether Curlew ended the exchange instead of its peer: it did not want the body, or did not trust the peer.
    private func isEarly(_ error: CurlewError, _ wasAborted: Bool) -> Bool {
        if request.isCancelled { return false }
        switch error.code {
        case .certificateUntrusted, .certificateExpired, .certificateHostMismatch, .certificateRevoked,
            .limitExceeded:
            return true
        default: return wasAborted
        }
    }

    // MARK: Events

    private func emitEarlyFailure(_ error: CurlewError) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emit { $0.request(request, didChangeTask: task, to: .failed(error)) }
    }

    private func emitEnd(of exchange: Exchange, _ error: CurlewError?, to events: EventSink) {
        guard let metrics = exchange.metrics else { return }
        let (request, task) = (request, task)
        emitStep(metrics)
        events.emit { $0.request(request, didGatherMetrics: metrics) }
        events.emitExchange { $0.request(request, task: task, didCompleteWithError: error) }
    }

    func emitCompletion(_ error: CurlewError?, to events: EventSink) {
        let (request, task) = (request, task)
        events.emit { $0.request(request, didCompleteTask: task, with: error) }
    }
}

extension Request {
    /// Returns the URL in the form in which the user gave it.
    func asGiven(_ url: URL?) -> URL? { url.map { kind.connection?.asGiven($0) ?? $0 } }
}
