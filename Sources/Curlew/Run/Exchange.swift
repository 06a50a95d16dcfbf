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
        /// The same, and nothing of its request, which is made for it. `isNoted`: it is part of the history already.
        case described(isNoted: Bool)
        /// That it was made.
        case created
        /// That it has started: it is sent once more, as if the transport had answered a challenge.
        case started

        var isOfExchange: Bool {
            switch self {
            case .none, .described: false
            case .created, .started: true
            }
        }
    }
}

/// One exchange that is over: what was sent, and what it gave.
///
/// An object: as a value it was copied, with all that it refers to, into the frame of every step that looks at it.
final class Exchange {
    let hop: Hop
    /// Has collected the response.
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

    /// Whether something may follow it.
    var mayLeadOn: Bool {
        switch outcome {
        case .success(let response): response.mayLeadOn
        case .failure: false
        }
    }
}

extension Run {
    /// Sends the hop over the transport, and returns when its response has ended.
    func send(_ hop: Hop) async -> Exchange {
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
            try starts(hop.announcement, outgoing)
            let bound = TaskBound.body(of: outgoing)
            defer { bound?.unbind() }
            outcome = .success(try await request.transport(in: session).perform(outgoing, sink: delegate))
        } catch {
            // The driver's task was cancelled, and the transport has heard of that before the request.
            if error.code == .cancelled, Task.isCancelled { request.cancel() }
            outcome = .failure(error)
        }
        let metrics = measured(outcome, since: began)
        remember(outcome, from: url, hop.visible)
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

    private func starts(_ announcement: Hop.Announcement, _ outgoing: TransferRequest) throws(CurlewError) {
        if announcement.isOfExchange { try request.startsAnnouncedExchange() }
        if case .started = announcement {} else { emitStart(outgoing) }
    }

    private func emitStart(_ outgoing: TransferRequest) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emit { $0.request(request, didChangeTask: task, to: .resumed) }
        guard case .stream = outgoing.body else { return }
        events.emitExchange { $0.request(request, taskNeedsNewBodyStream: task) }
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
        return metrics
    }

    /// What the response says to later requests: cookies, and that the host wants https.
    private func remember(
        _ outcome: Result<TransferOutcome, CurlewError>,
        from url: URL,
        _ visible: VisibleRequest
    ) {
        let context = request.context
        // A response that was cut off, by its reader perhaps, had a head all the same.
        guard context.remembersFields, !request.hasRememberedFields,
            let fields = outcome.fields ?? request.lastHead?.headers
        else { return }
        context.remember(fields, from: url, handlesCookies: visible.handlesCookies)
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
