internal import CurlewCore
internal import CurlewLocks
internal import Foundation

extension Run {
    /// Sends the request over the transport, and returns when its response has ended.
    func send(_ next: OutgoingRequest, _ state: Lock<ExchangeState>, waits: Bool) async -> Exchange {
        var next = next
        // The exchange has been reported, so a failure while it waits is reported as its end.
        var failure: CurlewError?
        if waits {
            do throws(CurlewError) { next = try await resumed(next, state) } catch { failure = error }
        }
        if failure == nil { emitStart(of: next) }
        let exchange = Exchange(next, of: self, state)
        sendCount += 1
        let began = Date()
        let outcome: Result<TransferOutcome, CurlewError>
        do throws(CurlewError) {
            if let failure { throw failure }
            // The code of some bodies has to run with the values of the run's task.
            let body: (any TaskBoundBody)? =
                if case .stream(let stream, _) = exchange.sent.body { stream as? any TaskBoundBody } else { nil }
            body?.bind()
            defer { body?.unbind() }
            let transport = request.kind.connection?.transport(in: session, for: exchange) ?? session.transport
            outcome = .success(
                exchange.interceptors == nil
                    ? try await transport.perform(exchange.sent, sink: exchange)
                    : try await exchange.perform(exchange.sent, over: transport, to: exchange))
        } catch {
            // The driver's task was cancelled, and the transport noticed before the request's cancellation handler ran.
            // Cancel the request here, so that it ends as cancelled.
            if error.code == .cancelled, Task.isCancelled { request.cancel() }
            outcome = .failure(error)
        }
        // A response whose body was cut off, perhaps by its reader, still had a head.
        if let fields = outcome.fields ?? state.withLock({ $0.lastHead?.headers }) { exchange.remember(fields) }
        exchange.recordOutcome(outcome, completed(outcome.metrics ?? TransferMetrics(queued: began, ended: Date())))
        return exchange
    }

    /// Waits until the request is resumed, and starts the exchange. Options that were set meanwhile still count, unless
    /// a response led to this exchange.
    private func resumed(
        _ waiting: OutgoingRequest,
        _ state: Lock<ExchangeState>
    ) async throws(CurlewError) -> OutgoingRequest {
        var next = waiting
        // The request may be suspended still, or again: then it waits once more, within a total timeout that has begun.
        repeat {
            try await request.untilResumed(within: budget, wasAskedFor: attempt.options.isAskedFor)
            guard case .described = waiting.announcement else { continue }
            readOptions()
            next.transfer = try lower(waiting.snapshot, body: waiting.transfer.body)
        } while try !request.startWaiting(state)
        return next
    }

    private func emitStart(of next: OutgoingRequest) {
        guard let events else { return }
        if next.announcement.isStarted { return }
        let (request, task) = (request, task)
        events.emit { $0.request(request, didChangeTask: task, to: .resumed) }
        guard case .stream = next.transfer.body else { return }
        events.emitExchange { $0.request(request, taskNeedsNewBodyStream: task) }
    }

    /// Adds to the metrics what only the run knows.
    private func completed(_ metrics: TransferMetrics) -> TransferMetrics {
        var metrics = metrics
        if !attempt.hops.isEmpty { metrics.redirects = attempt.hops }
        if metrics.attempt != attempt.number { metrics.attempt = attempt.number }
        return metrics
    }
}
