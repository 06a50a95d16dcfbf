internal import CurlewCore
internal import CurlewLocks
internal import Foundation

extension Request {
    /// Begins an exchange, in one step under the request's lock, and reports it to monitors and observers. `Run.send`
    /// starts it: at once, or if it `waits`, when the request is resumed. Throws if the request was cancelled.
    ///
    /// With `readsOptions`, it always waits: the options and the total timeout were read before the result was asked
    /// for, and are read again after the wait.
    // Never inlined: keeps the frame of the waiting task small.
    @inline(never)
    func beginExchange(
        _ next: OutgoingRequest,
        as task: TaskIdentifier,
        readsOptions: Bool,
        _ events: EventSink?
    ) throws(CurlewError) -> (state: Lock<ExchangeState>, waits: Bool) {
        let isRepeated = if case .started = next.announcement { true } else { false }
        let beginning = record.withLock { record -> ExchangeBeginning? in
            // A repeated exchange begins even if the request is cancelled, and waits: monitors know of its start and
            // must hear of its end. `startWaiting` throws the cancellation.
            guard isRepeated || !record.lifecycle.isCancelled else { return nil }
            let hooks =
                if case .described(let isNoted) = next.announcement {
                    record.recordCreation(of: next.snapshot, isNoted: isNoted)
                } else {
                    record.extras?.hooks
                }
            if !isRepeated { record.history.attempt.identifiers.append(task) }
            let waits = isRepeated || record.lifecycle.holdsDriver || readsOptions
            let began = Lock(making: { [upload = record.upload] in
                ExchangeState(task, waits ? .waiting(isReported: isRepeated) : .running, uploaded: upload)
            })
            return ExchangeBeginning(
                exchange: began, waits: waits, hooks: hooks, isSuspended: record.lifecycle.state == .suspended,
                former: exchange(&record.exchange, with: began))
        }
        guard let beginning else { throw cancellation }
        if case .described = next.announcement, beginning.hooks != nil || events != nil {
            report(creationOf: next.snapshot, to: beginning.hooks, events)
        }
        guard !isRepeated else { return (beginning.exchange, beginning.waits) }
        events?.emit { [self] in $0.request(self, didCreateTask: task) }
        if beginning.isSuspended { emitChange(of: task, to: .suspended, events) }
        beginning.hooks?.onTaskCreation?.call(task)
        for stream in beginning.hooks?.streams ?? [] { stream.send(task) }
        return (beginning.exchange, beginning.waits)
    }

    /// Waits while the request is suspended: until it is resumed, its result is asked for, or the total timeout
    /// expires. The request may be suspended when this returns.
    // Never inlined: keeps the frame of the waiting task small.
    @inline(never)
    func untilResumed(within budget: TimeoutBudget, wasAskedFor: Bool) async throws(CurlewError) {
        try await budget.limitWait(.queue) {
            _ = await self.record.withLock { $0.lifecycle.hold(wasAskedFor: wasAskedFor) }?.wait()
        }
        // Cancelling the task is about to cancel the request: nothing may be sent in between.
        if Task.isCancelled, record.withLock({ $0.lifecycle.holdsDriver }) { throw cancellation }
    }

    /// Starts an exchange that has waited. Returns `false` if the request is suspended.
    func startWaiting(_ exchange: Lock<ExchangeState>) throws(CurlewError) -> Bool {
        let (isCancelled, isHeld) = record.withLock { record in
            let lifecycle = record.lifecycle
            if !lifecycle.isCancelled, !lifecycle.holdsDriver { exchange.withLock { $0.stage = .running } }
            return (lifecycle.isCancelled, lifecycle.holdsDriver)
        }
        if isCancelled { throw cancellation }
        return !isHeld
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

// MARK: Sending

extension Run {
    /// Begins an exchange, sends the request over the transport, and returns when the response has ended. Throws only
    /// if no exchange began, because the request was cancelled.
    func send(_ outgoing: OutgoingRequest) async throws(CurlewError) -> Exchange {
        let (state, waits) = try request.beginExchange(
            outgoing, as: task, readsOptions: !attempt.options.isAskedFor, events)
        var next = outgoing
        // The exchange has been reported, so a failure while it waits is reported as its end.
        var failure: CurlewError?
        if waits {
            do throws(CurlewError) { next = try await resumed(next, state) } catch { failure = error }
        }
        if failure == nil, let events { emitStart(of: next, to: events) }
        let exchange = Exchange(next, of: self, state)
        sendCount += 1
        let began = Date()
        do throws(CurlewError) {
            if let failure { throw failure }
            // Some bodies have to run with the task-local values of the run's task.
            let body: (any TaskBoundBody)? =
                if case .stream(let stream, _) = exchange.sent.body { stream as? any TaskBoundBody } else { nil }
            body?.bind()
            defer { body?.unbind() }
            let transport = request.kind.connection?.transport(in: session, for: exchange) ?? session.transport
            let response =
                exchange.interceptors == nil
                ? try await transport.perform(exchange.sent, sink: exchange)
                : try await exchange.perform(exchange.sent, over: transport, to: exchange)
            exchange.remember(response.head.headers)
            exchange.ended(response, completed(response.metrics))
        } catch {
            // The driver's task was cancelled, and the transport noticed before the request's cancellation handler ran.
            // Cancel the request here, so that it ends as cancelled.
            if error.code == .cancelled, Task.isCancelled { request.cancel() }
            // A response whose body was cut off, perhaps by its reader, still had a head.
            if let head = state.withLock({ $0.lastHead }) { exchange.remember(head.headers) }
            exchange.failed(error, completed(error.metrics ?? TransferMetrics(queued: began, ended: Date())))
        }
        return exchange
    }

    /// Waits until the request is resumed, and starts the exchange. Options that were set meanwhile still apply, unless
    /// a response led to this exchange.
    private func resumed(
        _ waiting: OutgoingRequest,
        _ state: Lock<ExchangeState>
    ) async throws(CurlewError) -> OutgoingRequest {
        var next = waiting
        // If the request has been suspended again, it waits once more. The total timeout may have begun by then.
        repeat {
            try await request.untilResumed(within: budget, wasAskedFor: attempt.options.isAskedFor)
            guard case .described = waiting.announcement else { continue }
            readOptions()
            next.transfer = try lower(waiting.snapshot, body: waiting.transfer.body)
        } while try !request.startWaiting(state)
        return next
    }

    private func emitStart(of next: OutgoingRequest, to events: EventSink) {
        if case .started = next.announcement { return }
        let (request, task) = (request, task)
        events.emit { $0.request(request, didChangeTask: task, to: .resumed) }
        guard case .stream = next.transfer.body else { return }
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
