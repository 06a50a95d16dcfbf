internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// What goes out next: as users see it, and as the transport takes it.
struct Hop: Sendable {
    var visible: VisibleRequest
    var lowered: TransferRequest
    /// What monitors know of the exchange.
    var announcement = Announcement.none
    /// Credentials that the session remembers: they answer the challenge that this hop was sent without.
    var storedAnswer: TransferAuthentication?

    enum Announcement: Sendable {
        case none
        /// That it was made.
        case created
        /// That it has started: it is sent once more, as if the transport had answered a challenge.
        case started
    }
}

/// One exchange that is over: what was sent, and what it gave.
struct Exchange {
    let hop: Hop
    /// Has collected the response.
    let delegate: TaskDelegate
    let outcome: Result<TransferOutcome, CurlewError>
    let metrics: TransferMetrics
    let credentials: StoredCredentials

    var failure: CurlewError? { outcome.failure }
}

extension Run {
    /// Sends the hop over the transport, and returns when its response has ended.
    func send(_ hop: Hop) async throws(CurlewError) -> Exchange {
        let delegate = request.makeDelegate(task: task, url: hop.lowered.url, events: events, rules: rules)
        if case .none = hop.announcement, !request.begins(task, as: .running, events) { throw request.cancellation }
        let credentials = StoredCredentials(for: hop, in: request.context)
        if case .mayAnswer = credentials { request.context.holdsBackChallenges(of: hop.lowered.url, delegate) }
        let outgoing = outgoing(hop, credentials)
        delegate.willPerform(outgoing, in: session, within: budget)
        let began = Date()
        let outcome = await perform(outgoing, hop.announcement, delegate)
        let metrics = measured(outcome, since: began)
        remember(outcome, delegate, hop.visible)
        return Exchange(hop: hop, delegate: delegate, outcome: outcome, metrics: metrics, credentials: credentials)
    }

    /// The hop with what belongs to this exchange alone: cookies, credentials of the session's, what is left of the time.
    private func outgoing(_ hop: Hop, _ credentials: StoredCredentials) -> TransferRequest {
        var outgoing = hop.lowered
        if let remaining = budget.remaining { outgoing.options.timeouts.total = remaining }
        if case .offered(let authentication) = credentials { outgoing.options.authentication = authentication }
        // A `Cookie` field of the user's own is sent as it is.
        if let jar = request.context.configuration.cookies, hop.visible.handlesCookies,
            !outgoing.headers.contains(name: "Cookie"), let cookies = jar.header(for: outgoing.url)
        {
            outgoing.headers.append(name: "Cookie", value: cookies)
        }
        return outgoing
    }

    private func perform(
        _ outgoing: TransferRequest,
        _ announcement: Hop.Announcement,
        _ delegate: TaskDelegate
    ) async -> Result<TransferOutcome, CurlewError> {
        do throws(CurlewError) {
            if announcement != .none { try request.startsAnnouncedExchange() }
            if announcement != .started { emitStart(outgoing) }
            let bound = TaskBound.body(of: outgoing)
            defer { bound?.unbind() }
            return .success(try await session.transport.perform(outgoing, sink: delegate))
        } catch {
            // The driver's task was cancelled, and the transport has heard of that before the request.
            if error.code == .cancelled, Task.isCancelled { request.cancel() }
            return .failure(error)
        }
    }

    private func emitStart(_ outgoing: TransferRequest) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emitLeading(.resumedTask) { { $0.request(request, didResumeTask: task) } }
        guard case .stream = outgoing.body else { return }
        let reference = request.sessionReference
        events.emitExchange { $0.urlSession(reference, taskNeedsNewBodyStream: task) }
    }

    private func measured(_ outcome: Result<TransferOutcome, CurlewError>, since began: Date) -> TransferMetrics {
        var metrics: TransferMetrics
        switch outcome {
        case .success(let response): metrics = response.metrics
        case .failure(let error): metrics = error.metrics ?? TransferMetrics(queued: began, ended: Date())
        }
        if !attempt.hops.isEmpty { metrics.redirects = attempt.hops }
        // Setting it makes a copy, where the transport has not done so.
        if metrics.attempt != attempt.number { metrics.attempt = attempt.number }
        request.keep(metrics)
        return metrics
    }

    /// What the response says to later requests: cookies, and that the host wants https.
    private func remember(
        _ outcome: Result<TransferOutcome, CurlewError>,
        _ delegate: TaskDelegate,
        _ visible: VisibleRequest
    ) {
        let context = request.context
        // A response that was cut off, by its reader perhaps, had a head all the same.
        guard context.remembersFields, let fields = outcome.fields ?? delegate.head?.headers else { return }
        context.remember(fields, from: delegate.url, handlesCookies: visible.handlesCookies)
    }
}

private enum TaskBound {
    /// The body, bound to the request's task, where it has to be.
    static func body(of request: TransferRequest) -> (any TaskBoundBody)? {
        guard case .stream(let stream, _) = request.body, let bound = stream as? any TaskBoundBody else { return nil }
        bound.bind()
        return bound
    }
}
