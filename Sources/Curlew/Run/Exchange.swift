internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The request to send next: as users see it, and as the transport takes it.
struct Hop: Sendable {
    var visible: VisibleRequest
    var lowered: TransferRequest
    /// The events that monitors have received for the exchange.
    var announcement = Announcement.none
    /// Stored credentials of the session. The hop repeats a request that was sent without them and was challenged.
    var storedAnswer: TransferAuthentication?

    enum Announcement: Sendable {
        case none
        /// Neither the exchange nor its final `URLRequest` was reported. `isNoted`: the request is in the history
        /// already.
        case described(isNoted: Bool)
        /// The exchange was reported as started: its request is sent again, as if the transport had answered a
        /// challenge.
        case started
    }
}

/// An exchange that has ended: the request, and the outcome.
final class Exchange {
    let hop: Hop
    /// The delegate that has collected the response.
    let delegate: any TaskDelegate
    let outcome: Result<TransferOutcome, CurlewError>
    let metrics: TransferMetrics
    let credentials: StoredCredentials

    init(
        hop: Hop,
        delegate: any TaskDelegate,
        outcome: Result<TransferOutcome, CurlewError>,
        metrics: TransferMetrics,
        credentials: StoredCredentials
    ) {
        self.hop = hop
        self.delegate = delegate
        self.outcome = outcome
        self.metrics = metrics
        self.credentials = credentials
    }

    var failure: CurlewError? { outcome.failure }

    /// Whether another exchange may follow.
    var mayLeadOn: Bool {
        switch outcome {
        case .success(let response): response.mayLeadOn
        case .failure: false
        }
    }
}

extension Run {
    /// Sends the hop over the transport, and returns when its response has ended. With `isHeld`, first waits while the
    /// request is suspended, and starts the exchange.
    func send(_ hop: Hop, isHeld: Bool) async -> Exchange {
        var hop = hop
        // Monitors know of the exchange, so a failure while it waits ends it as any other.
        var failure: CurlewError?
        if isHeld {
            do throws(CurlewError) { hop = try await resumed(hop) } catch { failure = error }
        }
        if failure == nil { emitStart(of: hop) }
        let url = hop.lowered.url
        let credentials = request.context.storedCredentials(for: hop, onlyBasic: request.offersOnlyBasic)
        let outgoing = outgoing(hop, credentials)
        let delegate = request.makeDelegate(
            for: ExchangeContext(
                request: request,
                task: task,
                url: url,
                events: events,
                isAnswerable: credentials.answers(to: url, of: request)
            ),
            outgoing,
            of: self
        )
        let began = Date()
        let outcome: Result<TransferOutcome, CurlewError>
        do throws(CurlewError) {
            if let failure { throw failure }
            let bound = TaskBound.body(of: outgoing)
            defer { bound?.unbind() }
            outcome = .success(try await request.transport(in: session).perform(outgoing, sink: delegate))
        } catch {
            // The driver's task was cancelled, and the transport noticed before the request's cancellation handler ran.
            // Cancel the request here, so that it ends as cancelled.
            if error.code == .cancelled, Task.isCancelled { request.cancel() }
            outcome = .failure(error)
        }
        let metrics = measured(outcome, since: began)
        remember(outcome, from: url, hop.visible)
        return Exchange(hop: hop, delegate: delegate, outcome: outcome, metrics: metrics, credentials: credentials)
    }

    /// Returns the transfer request with the parts that belong to this exchange alone: cookies, stored credentials of
    /// the session, and the remaining time.
    private func outgoing(_ hop: Hop, _ credentials: StoredCredentials) -> TransferRequest {
        var outgoing = hop.lowered
        if let remaining = budget.remaining { outgoing.options.timeouts.total = remaining }
        if case .offered(let authentication) = credentials { outgoing.options.authentication = authentication }
        // A `Cookie` field that the user set is sent unchanged.
        if let jar = request.context.configuration.cookies, hop.visible.handlesCookies,
            !outgoing.headers.contains(name: "Cookie"), let cookies = jar.header(for: outgoing.url)
        {
            outgoing.headers.append(name: "Cookie", value: cookies)
        }
        return outgoing
    }

    /// Waits until the request is resumed, and starts the exchange. Options that were set meanwhile still count, unless
    /// a response led to this exchange.
    private func resumed(_ hop: Hop) async throws(CurlewError) -> Hop {
        var next = hop
        // The request may be suspended still, or again: then it waits once more, within a total timeout that has begun.
        repeat {
            try await request.untilResumed(within: budget, wasAskedFor: attempt.isAskedFor)
            guard case .described = hop.announcement else { continue }
            readOptions()
            next.lowered = try lower(hop.visible, body: hop.lowered.body)
        } while try !request.startsAnnouncedExchange()
        return next
    }

    private func emitStart(of hop: Hop) {
        guard let events else { return }
        if case .started = hop.announcement { return }
        let (request, task) = (request, task)
        events.emit { $0.request(request, didChangeTask: task, to: .resumed) }
        guard case .stream = hop.lowered.body else { return }
        events.emitExchange { $0.request(request, taskNeedsNewBodyStream: task) }
    }

    private func measured(_ outcome: Result<TransferOutcome, CurlewError>, since began: Date) -> TransferMetrics {
        var metrics: TransferMetrics
        switch outcome {
        case .success(let response): metrics = response.metrics
        case .failure(let error): metrics = error.metrics ?? TransferMetrics(queued: began, ended: Date())
        }
        if !attempt.hops.isEmpty { metrics.redirects = attempt.hops }
        if metrics.attempt != attempt.number { metrics.attempt = attempt.number }
        return metrics
    }

    /// Stores the parts of the response that concern later requests: cookies, and the demand for https (HSTS).
    private func remember(
        _ outcome: Result<TransferOutcome, CurlewError>,
        from url: URL,
        _ visible: VisibleRequest
    ) {
        let context = request.context
        // A response whose body was cut off, perhaps by its reader, still had a head.
        guard context.remembersFields, !request.hasRememberedFields,
            let fields = outcome.fields ?? request.lastHead?.headers
        else { return }
        context.remember(fields, from: url, handlesCookies: visible.handlesCookies)
    }
}

private enum TaskBound {
    /// Returns the body, bound to the current task, if its code has to run with that task's values. Unbind it after the
    /// exchange.
    static func body(of request: TransferRequest) -> (any TaskBoundBody)? {
        guard case .stream(let stream, _) = request.body, let bound = stream as? any TaskBoundBody else { return nil }
        bound.bind()
        return bound
    }
}
