internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

extension Run {
    /// Begins an exchange, sends the request over the transport, and returns when the response has ended. Throws only
    /// if no exchange began, because the request was cancelled.
    func send(_ outgoing: OutgoingRequest) async throws(CurlewError) -> Exchange {
        let (state, waits) = try request.beginExchange(
            outgoing, as: exchangeID, readsOptions: !attempt.options.sawDemand, events)
        var next = outgoing
        // The exchange has been reported, so a failure while it waits is reported as its end.
        var failure: CurlewError?
        if waits {
            do throws(CurlewError) { next = try await startedLater(next, state) } catch { failure = error }
        }
        if failure == nil, let events { emitStart(of: next, to: events) }
        let exchange = Exchange(next, of: self, state)
        sendCount += 1
        let began = Date()
        do throws(CurlewError) {
            if let failure { throw failure }
            // Some bodies have to run with the task-local values of the run's task.
            let body: (any TaskBoundBody)? =
                if case .stream(let stream, _) = exchange.toSend.body { stream as? any TaskBoundBody } else { nil }
            body?.bind()
            defer { body?.unbind() }
            let transport = request.kind.webSocket?.transport(in: session, for: exchange) ?? session.transport
            let response =
                exchange.interceptors == nil
                ? try await transport.perform(exchange.toSend, sink: exchange)
                : try await exchange.sendIntercepted(exchange.toSend, over: transport, to: exchange)
            exchange.storeCookiesAndHSTS(from: response.head.headers)
            exchange.ended(response, completed(response.metrics))
        } catch {
            // The driver's task was cancelled, and the transport noticed before the request's cancellation handler ran.
            // Cancel the request here, so that it ends as cancelled.
            if error.code == .cancelled, Task.isCancelled { request.cancel() }
            // A response whose body was cut off, perhaps by its reader, still had a head.
            if let head = state.withLock({ $0.lastHead }) { exchange.storeCookiesAndHSTS(from: head.headers) }
            exchange.failed(error, completed(error.metrics ?? TransferMetrics(queued: began, ended: Date())))
        }
        return exchange
    }

    /// Waits until the request is resumed, and starts the exchange. Returns the request to send: options that were set
    /// meanwhile still apply, unless a response led to this exchange.
    private func startedLater(
        _ waiting: OutgoingRequest,
        _ state: Lock<ExchangeState>
    ) async throws(CurlewError) -> OutgoingRequest {
        var next = waiting
        // If the request has been suspended again, it waits once more. The total timeout may have begun by then.
        repeat {
            try await request.untilResumed(within: budget, sawDemand: attempt.options.sawDemand)
            guard waiting.occasion.isFirst else { continue }
            readOptions()
            next.transferRequest = try transferRequest(for: waiting.snapshot, body: waiting.transferRequest.body)
        } while try !request.startWaiting(state)
        return next
    }

    private func emitStart(of next: OutgoingRequest, to events: EventSink) {
        if next.occasion.isRepetition { return }
        let (request, task) = (request, exchangeID)
        events.emit { $0.request(request, didChangeTask: task, to: .resumed) }
        guard case .stream = next.transferRequest.body else { return }
        events.emitExchange { $0.request(request, taskNeedsNewBodyStream: task) }
    }

    /// Adds the redirects and the number of the attempt, which the transport does not know.
    private func completed(_ metrics: TransferMetrics) -> TransferMetrics {
        var metrics = metrics
        if !attempt.hops.isEmpty { metrics.redirects = attempt.hops }
        if metrics.attempt != attempt.number { metrics.attempt = attempt.number }
        return metrics
    }
}

// MARK: The beginning of an exchange

extension Request {
    /// Begins an exchange, in one step under the request's lock, and reports it to monitors and observers. `Run.send`
    /// starts it: at once, or if it `waits`, when the request is resumed. Throws if the request was cancelled.
    ///
    /// With `readsOptions`, it always waits: the options and the total timeout were read before the result was asked
    /// for, and are read again after the wait.
    // Never inlined: see `Run`.
    @inline(never)
    func beginExchange(
        _ next: OutgoingRequest,
        as task: TaskIdentifier,
        readsOptions: Bool,
        _ events: EventSink?
    ) throws(CurlewError) -> (state: Lock<ExchangeState>, waits: Bool) {
        let isRepetition = next.occasion.isRepetition
        let beginning = record.withLock { record -> ExchangeBeginning? in
            // A repetition begins even if the request is cancelled, and waits: monitors know of its start and must hear
            // of its end. `startWaiting` throws the cancellation.
            guard isRepetition || !record.lifecycle.isCancelled else { return nil }
            let hooks = next.occasion.isFirst ? record.recordCreation() : record.extras?.hooks
            if !isRepetition { record.history.lastAttempt.identifiers.append(task) }
            let waits = isRepetition || record.lifecycle.driverHasToWait || readsOptions
            let began = Lock(making: { [upload = record.upload] in
                ExchangeState(task, waits ? .waiting(isReported: isRepetition) : .running, uploaded: upload)
            })
            let former = exchange(&record.exchange, with: began)
            return ExchangeBeginning(
                exchange: began, waits: waits, hooks: hooks, isSuspended: record.lifecycle.state == .suspended,
                former: former)
        }
        guard let beginning else { throw cancellation }
        // Monitors know of the exchange that is repeated.
        if !isRepetition { report(beginning, of: next, as: task, to: events) }
        return (beginning.exchange, beginning.waits)
    }

    /// Reports an exchange that begins to monitors and observers, and before an attempt's first one the creation of the
    /// request.
    private func report(
        _ beginning: ExchangeBeginning,
        of next: OutgoingRequest,
        as task: TaskIdentifier,
        to events: EventSink?
    ) {
        let hooks = beginning.hooks
        if next.occasion.isFirst, hooks != nil || events != nil {
            reportCreation(of: next.snapshot, to: hooks, events)
        }
        events?.emit { [self] in $0.request(self, didCreateTask: task) }
        if beginning.isSuspended { emitChange(of: task, to: .suspended, events) }
        hooks?.onTaskCreation?.call(task)
        for stream in hooks?.streams ?? [] { stream.send(task) }
    }

    /// Waits while the request is suspended: until it is resumed, its result is asked for, or the total timeout
    /// expires. The request may be suspended when this returns.
    // Never inlined: see `Run`.
    @inline(never)
    func untilResumed(within budget: TimeoutBudget, sawDemand: Bool) async throws(CurlewError) {
        try await budget.limitWait(.queue) {
            _ = await self.record.withLock { $0.lifecycle.driverWaiter(sawDemand: sawDemand) }?.wait()
        }
        // The task has been cancelled, and its `onCancel` has not cancelled the request yet: nothing may be sent.
        if Task.isCancelled, record.withLock({ $0.lifecycle.driverHasToWait }) { throw cancellation }
    }

    /// Starts an exchange that has waited. Returns `false` if the request is suspended.
    func startWaiting(_ exchange: Lock<ExchangeState>) throws(CurlewError) -> Bool {
        let (isCancelled, hasToWait) = record.withLock { record in
            let lifecycle = record.lifecycle
            if !lifecycle.isCancelled, !lifecycle.driverHasToWait { exchange.withLock { $0.stage = .running } }
            return (lifecycle.isCancelled, lifecycle.driverHasToWait)
        }
        if isCancelled { throw cancellation }
        return !hasToWait
    }
}

/// An exchange that begins, and the hooks that the request has at this moment.
private struct ExchangeBeginning {
    let exchange: Lock<ExchangeState>
    /// Whether the exchange starts only when the request is resumed.
    let waits: Bool
    let hooks: RequestHooks?
    let isSuspended: Bool
    /// The exchange that this one replaces. Released without the lock: its control may belong to a user's transport.
    let former: Lock<ExchangeState>?
}

// MARK: Through exchange adapters and middleware

/// The exchange adapters and the middleware of an attempt. A class, so that requests without them have one empty
/// pointer. `MiddlewareRun` calls the middleware.
final class ExchangeInterceptors: Sendable {
    let adapters: [any ExchangeAdapter]
    /// The outermost first.
    let middleware: [any RequestMiddleware]

    /// `nil` without either.
    init?(_ adapters: [any ExchangeAdapter], _ middleware: [any RequestMiddleware]) {
        if adapters.isEmpty, middleware.isEmpty { return nil }
        self.adapters = adapters
        self.middleware = middleware
    }
}

extension Exchange {
    /// Sends a request of the exchange over the transport, through exchange adapters and middleware.
    ///
    /// `described` is the request of the exchange, or one for a segment of its download. Changes by adapters and
    /// middleware apply only to this transfer.
    func sendIntercepted(
        _ described: TransferRequest,
        over transport: any Transport,
        to sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        guard let interceptors else { return try await transport.perform(described, sink: sink) }
        var transfer = described
        // Adapters and middleware may sign the fields, so the deadline field is not changed after them.
        if transfer.options.hasDeadlineField { transfer.options.hasDeadlineField = false }
        if !interceptors.adapters.isEmpty {
            transfer = try await adapted(transfer, by: interceptors.adapters, for: sink)
            budget.apply(to: &transfer)
        }
        // Middleware returns responses, and a WebSocket is none.
        guard !interceptors.middleware.isEmpty, !request.opensWebSocket else {
            var outcome = try await transport.perform(transfer, sink: sink)
            if transfer.bringsAuthorization { outcome.statusEvaluatesCredentials = false }
            return outcome
        }
        let run = MiddlewareRun(
            transfer, of: request, through: interceptors.middleware, over: transport, to: sink, budget)
        return try await run.outcome()
    }

    /// Returns the request as the adapters change it. The sink gets a control that cancels the adapters; later the
    /// transport's control replaces it.
    private func adapted(
        _ sent: TransferRequest,
        by adapters: [any ExchangeAdapter],
        for sink: any TransferSink
    ) async throws(CurlewError) -> TransferRequest {
        let wire = WireRequest(sent, keepsDotSegments: session.context.configuration.keepsDotSegments)
        let info = ExchangeInfo(
            .request(request),
            attempt: sent.attempt,
            hop: hop,
            resendCount: resendCount,
            url: sent.url,
            task: sent.identifier,
            hasStreamedBody: wire.hasStreamedBody,
            leavesOrigin: leavesOrigin,
            urlTemplate: hop == 0 ? request.urlTemplate : nil
        )
        let answer: Result<URLRequest, any Error>
        do {
            answer = try await request.callingUserCode(
                budget: budget, in: .adaptation, attaching: { sink.willStart($0) }
            ) {
                // Returned as a result, so that an error of the adapters is not mistaken for this request's own total
                // timeout.
                await Result.of {
                    var adapted = wire.view
                    for adapter in adapters { adapted = try await adapter.adapt(adapted, for: info) }
                    return adapted
                }
            }
        } catch {
            throw (error as? CurlewError) ?? .cancelled
        }
        switch answer {
        case .success(let adapted): return try wire.changed(by: adapted)
        case .failure(let error): throw ErrorWrapping.adaptation(error)
        }
    }
}
