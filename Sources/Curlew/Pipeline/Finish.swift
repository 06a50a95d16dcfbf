internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Ends an attempt: closes the body, validates the response and notifies monitors. With `refusal`, the response can
    /// be neither followed nor delivered.
    func finish(_ exchange: Exchange, refusing refusal: CurlewError? = nil) async -> RunResult {
        var failure = refusal ?? exchange.failure
        let ending: ExchangeState.Ending
        if let (decided, _) = exchange.state.withLock({ $0.endIfDecided(exchange.trailers) }) {
            ending = decided
        } else {
            (ending, failure) = await endUndecided(exchange, failure)
        }
        let response = ending.response
        failure = failure ?? ending.refusal
        let (isCancelled, own) = request.record.withLock { record in
            // `followUp` has recorded the metrics of other exchanges.
            if exchange.outcomeForFollowUp == nil, let metrics = exchange.metrics {
                record.history.lastAttempt.collectedMetrics.append(metrics)
            }
            return (record.lifecycle.isCancelled, record.extras?.options)
        }
        if isCancelled { failure = request.cancellation }
        if let failure, isEarly(failure, ending.wasAborted) { emitEarlyFailure(failure) }
        let collected = await ending.delegate?.close(failure, of: exchange) ?? CollectedBody(error: failure)
        // Set before validations run, because they may ask the request for the file.
        _ = exchange.state.withLock { $0.close(with: collected.body) }
        if let events { emitEnd(of: exchange, collected.error, to: events) }
        var body = collected.body
        var (error, isStatusCheckOnly) = validated(response, by: own, collected, exchange.outgoing.snapshot)
        if let file = collected.file {
            // A response that will be retried must not replace the file at the destination.
            if error == nil, retriersDecide(response) {
                undecidedDownload = UndecidedDownload(exchange, response, file)
                return makeResult(of: exchange, response, body, nil)
            }
            // The excerpt for the error is read before the file is removed.
            error = error.map { explained($0, exchange, response, body) }
            // A file that is rejected is removed. Awaiting methods that accept every status can no longer have it, so
            // they get the error too.
            if case .file = body { isStatusCheckOnly = false }
            (body, error) = await placed(file, of: exchange, error)
        }
        let final = error.map { finalError($0, exchange, response, body) }
        if let events { emitCompletion(final, to: events) }
        attempt.startsOver = collected.startsOver
        return makeResult(of: exchange, response, body, final, isStatusCheckOnly: isStatusCheckOnly)
    }

    /// Ends an exchange whose response is provisional, or about whose head the user was asked. Unless there is a
    /// failure, delivers it first, and waits for the user's decision.
    private func endUndecided(
        _ exchange: Exchange,
        _ failure: CurlewError?
    ) async -> (ExchangeState.Ending, CurlewError?) {
        var failure = failure
        if failure == nil {
            do throws(CurlewError) { try await exchange.decideDelivery() } catch { failure = error }
        }
        // After this, no delegate can begin.
        if let decision = exchange.state.withLock({ $0.decision }) { await decision.expire() }
        let (ending, _) = exchange.state.withLock { $0.end(exchange.trailers) }
        return (ending, failure)
    }

    private func makeResult(
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
    private func placed(
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
        let (snapshot, _) = request.record.withLock { record in
            (record.history.lastRequest, record.exchange?.withLock { $0.close(with: $0.body) })
        }
        error.url = request.asGiven(error.url ?? snapshot?.url)
        error.attempt = attempt.number
        reconsiderSafety(of: &error)
        return RunResult(
            request: snapshot,
            error: error,
            resumeData: request.kind.resumeData?(request),
            sensitiveHeaders: request.context.configuration.redirects.sensitiveHeaders
        )
    }

    /// Returns the first error, and whether only an awaiting method treats it as one. The order is: the exchange's
    /// error, the request's validations, the status if there are none.
    private func validated(
        _ response: LazyResponse?,
        by own: RequestOptions?,
        _ collected: CollectedBody,
        _ snapshot: RequestSnapshot
    ) -> (error: CurlewError?, isStatusCheckOnly: Bool) {
        switch collected.verdict {
        case .open: break
        case .accepted: if !request.isCancelled { return (collected.error, false) }
        // The body of a rejected response is not read to its end; the rejection is the error, not the missing rest.
        case .rejected(let error, let isStatusCheckOnly): if !request.isCancelled { return (error, isStatusCheckOnly) }
        }
        guard collected.error == nil, let response else { return (collected.error, false) }
        guard let validations = own?.validations, !validations.isEmpty else {
            guard checksStatus, own?.acceptsAnyStatus != true else { return (nil, false) }
            let error = StatusCheck.error(for: response, to: snapshot.method, body: collected.body)
            return (error, error != nil)
        }
        let seen = snapshot.urlRequest
        for validation in validations {
            if let error = validation(request, seen, response, collected.body) { return (error, false) }
        }
        // A validation may have cancelled the request.
        return (request.isCancelled ? request.cancellation : nil, false)
    }

    /// Returns the error as users get it: with the URL, the attempt, the metrics and the status.
    private func finalError(
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
        reconsiderSafety(of: &error)
        error.nameUnpinnedKey()
        error.metrics = exchange.metrics
        if error.responseCode == nil { error.responseCode = response?.head.status }
        return error
    }

    /// The error knows the last exchange only. An earlier one, or an earlier attempt, may have taken effect.
    private func reconsiderSafety(of error: inout CurlewError) {
        guard error.isSafeToRetry else { return }
        let wasCarriedOut = !attempt.hops.isEmpty && request.wasCarriedOut
        if wasCarriedOut || request.mayHaveTakenEffect { error.isSafeToRetry = false }
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
    /// Monitors then hear of the failure before the end of the exchange.
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
        let (request, task) = (request, exchangeID)
        events.emit { $0.request(request, didChangeTask: task, to: .failed(error)) }
    }

    private func emitEnd(of exchange: Exchange, _ error: CurlewError?, to events: EventSink) {
        guard let metrics = exchange.metrics else { return }
        let (request, task) = (request, exchangeID)
        emitCollected(metrics)
        events.emit { $0.request(request, didGatherMetrics: metrics) }
        events.emitExchange { $0.request(request, task: task, didCompleteWithError: error) }
    }

    private func emitCompletion(_ error: CurlewError?, to events: EventSink) {
        let (request, task) = (request, exchangeID)
        events.emit { $0.request(request, didCompleteTask: task, with: error) }
    }
}

// MARK: A download that a retrier may replace

/// A download whose response is acceptable, but which a retrier may still replace. Until that is decided, the file at
/// the destination is not changed, and monitors do not hear of the completion.
// A class, so that an absent value costs one pointer in every run.
final class UndecidedDownload {
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
    private func retriersDecide(_ response: LazyResponse?) -> Bool {
        guard attempt.options.hasRetriers, let status = response?.head.status, status != 200 else { return false }
        return request.retriers.contains { $0.retryableHTTPStatusCodes.contains(status) }
    }

    /// Delivers the response of an undecided download: moves its file to the destination, and ends the exchange. If that
    /// fails, retriers are asked as about any failure.
    func deliver(_ undecided: UndecidedDownload) async -> AfterAttempt {
        guard !request.isCancelled else {
            let failed = await dropped(undecided)
            return .end(failed.failing(with: request.cancellation, resumeData: request.kind.resumeData?(request)))
        }
        request.clearFailure()
        undecidedDownload = nil
        let (body, failure) = await placed(undecided.file, of: undecided.exchange, nil)
        let error = failure.map { finalError($0, undecided.exchange, undecided.response, .none) }
        if let events { emitCompletion(error, to: events) }
        let result = makeResult(of: undecided.exchange, undecided.response, body, error)
        guard let error else { return .end(result) }
        return await askRetriers(about: error, result)
    }

    /// Removes the file of the undecided download, if there is one, and ends its exchange.
    func dropUndecidedDownload() async {
        guard let undecided = undecidedDownload else { return }
        undecidedDownload = nil
        _ = try? await undecided.file.place(ifAccepted: false)
        _ = undecided.exchange.state.withLock { $0.replaceBody(by: .none) }
        if let events { emitCompletion(nil, to: events) }
    }

    /// Removes the file of the download, and returns its result without a body.
    func dropped(_ undecided: UndecidedDownload) async -> RunResult {
        await dropUndecidedDownload()
        return makeResult(of: undecided.exchange, undecided.response, .none, nil)
    }
}

extension Request {
    /// Returns the URL in the form in which the user gave it.
    func asGiven(_ url: URL?) -> URL? { url.map { kind.webSocket?.asGiven($0) ?? $0 } }
}
