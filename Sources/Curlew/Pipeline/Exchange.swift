internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// One request that is sent, and its response: the transport's sink.
///
///     head ─┬─ may be followed by another exchange ─▶ provisional ─▶ the run decides ─┐
///           │                                                                       │ deliver
///           └───────────────────────────────────────────────────────────────────────┴▶ the user is asked ─▶ delegate
///
/// The transport's thread calls the sink methods while `perform` runs, and the run afterwards, for a provisional
/// response that is delivered after all. They do not wait, except for a download's write to its file. They call no user
/// code, except a stream's validations over a transport that has no control.
final class Exchange: KeepingSink {
    let request: Request
    let session: Session
    let id: TaskIdentifier
    let outgoing: OutgoingRequest
    /// The request as it is sent, with the parts that belong only to this exchange: cookies, stored credentials of the
    /// session, and the remaining time.
    let toSend: TransferRequest
    let credentials: StoredCredentials
    let budget: TimeoutBudget
    let events: EventSink?
    /// The exchange adapters and the middleware, which see each request that is sent for the exchange. `nil` without
    /// any.
    let interceptors: ExchangeInterceptors?
    /// The number of redirects that led to the exchange.
    let hop: Int
    /// The number of exchanges that the request has sent before, in all attempts.
    let resendCount: Int
    /// Whether the redirects led away from the origin of the attempt's first URL. Only interceptors read it; without
    /// them it is not computed, and is `false`.
    let leavesOrigin: Bool
    /// Whether a status outside 200..<300 is an error, unless the request has its own validation.
    let checksStatus: Bool
    let state: Lock<ExchangeState>
    /// The metrics of the exchange, once it has ended.
    // SAFETY: only the task that drives the run touches it, after `perform` has returned.
    nonisolated(unsafe) private(set) var metrics: TransferMetrics?
    /// The failure of the exchange.
    // SAFETY: as for the metrics.
    nonisolated(unsafe) private(set) var failure: CurlewError?
    /// The outcome, if `Run.followUp` has to decide about it: another exchange may follow, or the server has accepted
    /// credentials that may have to be stored.
    // SAFETY: as for the metrics.
    nonisolated(unsafe) private(set) var outcomeForFollowUp: TransferOutcome?
    /// The trailer fields of a complete response, as received.
    // SAFETY: as for the metrics.
    nonisolated(unsafe) private(set) var trailers: HTTPHeaders?

    init(_ outgoing: OutgoingRequest, of run: Run, _ state: Lock<ExchangeState>) {
        request = run.request
        session = run.session
        id = run.exchangeID
        budget = run.budget
        events = run.events
        interceptors = run.attempt.options.interceptors
        hop = run.attempt.hops.count
        resendCount = run.sendCount
        leavesOrigin =
            if interceptors != nil, let first = run.attempt.hops.first {
                !RedirectLocation.isSameOrigin(outgoing.transferRequest.url, first.url)
            } else {
                false
            }
        checksStatus = run.checksStatus
        self.outgoing = outgoing
        self.state = state
        let context = request.context
        credentials =
            context.credentials.isEmpty && outgoing.sessionCredentials == nil
            ? .none : context.storedCredentials(for: outgoing, onlyBasic: request.opensWebSocket)
        var toSend = outgoing.transferRequest
        if budget.total != nil { budget.apply(to: &toSend, describedBy: outgoing.transferRequest, in: context) }
        if case .offered(let authentication) = credentials { toSend.options.authentication = authentication }
        // A `Cookie` field that the user set, for the request or the session, is sent unchanged.
        if let jar = context.configuration.cookies, outgoing.snapshot.handlesCookies,
            !toSend.headers.contains(name: "Cookie"),
            toSend.defaultHeaders?.headers.contains(name: "Cookie") != true, let cookies = jar.header(for: toSend.url)
        {
            toSend.headers.append(name: "Cookie", value: cookies)
        }
        self.toSend = toSend
    }

    var url: URL { toSend.url }
    var control: (any TransferControl)? { state.withLock { $0.relay.control } }

    // MARK: The start

    /// Another thread may cancel or suspend the request at the same time. It changes the request's state before it
    /// reads the control, and this thread sets the control before it reads the state. So one of the two sees the
    /// other's change.
    func willStart(_ control: any TransferControl) {
        // The former control is released without the lock.
        _ = state.withLock { $0.relay.attach(control) }
        let (requestState, cancellation) = request.record.withLock { ($0.lifecycle.state, $0.lifecycle.cancellation) }
        switch requestState {
        case .cancelled: control.cancel(with: cancellation ?? .cancelled)
        case .suspended: request.relaySuspension()
        case .initialized, .resumed, .finished: break
        }
    }

    /// Called when a segmented download starts its other segments. `control` steers all of them.
    func continueUnder(_ control: any TransferControl) {
        state.withLock { $0.stage = .running }
        willStart(control)
    }

    // MARK: The head

    func didReceive(informational head: ResponseHead) {
        request.record.withLock { $0.extras?.hooks.onInformational }?.call(head)
    }

    func didReceive(head: ResponseHead) -> Disposition {
        guard head.status >= 300, mayBeFollowed(head) else { return deliver(head) }
        state.withLock {
            $0.reception = .provisional(ProvisionalResponse(head, head.status == 401 ? .challenge : .redirect))
        }
        return .proceed
    }

    /// Delivers a response: notifies monitors and the request, and asks the user about the head. Without a hook that
    /// does, chooses the delegate.
    private func deliver(_ head: ResponseHead) -> Disposition {
        let response = LazyResponse(url: url, head: head)
        let (request, task) = (request, id)
        events?.emitExchange { $0.request(request, task: task, didReceive: head, from: response.url) }
        // One step: a stream of heads that is opened at the same time either finds this head or is sent it.
        let observers = request.record.withLock { record in
            state.withLock { $0.headArrived(response) }
            return record.extras.map { HeadObservers($0.hooks) }
        }
        if let observers {
            observers.progress?.started(state.withLock { $0.download })
            for stream in observers.streams { stream.send(response) }
        }
        // Monitors and streams are notified of every response, but the user is not asked about one that is refused.
        if head.status == 206, let refusal = refusal(ofPart: head) { return abort(refusal) }
        if let hook = headHook(observers) { return ask(hook, about: response) }
        return begin(request.kind.makeDelegate(self), response)
    }

    /// The observers of a head, as the request has them when it arrives.
    private struct HeadObservers {
        let hook: HeadHook?
        let informational: InformationalHook?
        let streams: [any MilestoneStream]
        let progress: ProgressReporter?

        init(_ hooks: __shared RequestHooks) {
            (hook, informational) = (hooks.onHead, hooks.onInformational)
            (streams, progress) = (hooks.streams, hooks.downloadProgress)
        }
    }

    /// Returns the closure that decides about the head: the request's, or else the session's. It is called after the
    /// closure for informational responses has returned.
    private func headHook(_ observers: HeadObservers?) -> HeadHook? {
        var hook = observers?.hook
        if hook == nil, request.context.configuration.decisions != nil { hook = request.sessionHeadHook }
        if let informational = observers?.informational { hook = informational.before(hook) }
        return hook
    }

    /// Asks the user about the head. The transport is paused until the decision has been carried out.
    private func ask(_ hook: HeadHook, about response: LazyResponse) -> Disposition {
        let decision = HeadDecision()
        state.withLock { state in
            state.reception = .asked
            state.decision = decision
        }
        hook(request, response) { [weak self] disposition in
            decision.make { self?.apply(disposition, about: response) }
        }
        return .pause
    }

    /// Carries out the user's decision about the head. May be called on any thread, while the transport waits.
    private func apply(_ disposition: Request.ResponseDisposition, about response: LazyResponse) {
        let delegate: any TaskDelegate
        switch disposition {
        case .cancel: return _ = request.cancel()
        case .allow: delegate = request.kind.makeDelegate(self)
        case .becomeDownload:
            delegate =
                (request as? DataRequest).map { FileTaskDelegate(for: $0, response) }
                ?? request.kind.makeDelegate(self)
        }
        switch begin(delegate, response) {
        case .proceed: break
        // The delegate resumes the transport.
        case .pause: return
        case .abort(let error): state.withLock { $0.reception = .refused(error, by: delegate) }
        }
        control?.resumeReceiving()
    }

    private func begin(_ delegate: any TaskDelegate, _ response: LazyResponse) -> Disposition {
        // Set first, because the delegate may resume the transport before `begin` has returned.
        state.withLock { $0.reception = .delegated(delegate) }
        let disposition = delegate.begin(response, in: self)
        if case .abort(let error) = disposition { return abort(error) }
        return disposition
    }

    /// Returns the error for a 206 if the request asked for no range, or `nil` if it is acceptable. A part must not
    /// pass for the whole, and a file is complete only if the server says so.
    private func refusal(ofPart head: ResponseHead) -> CurlewError? {
        let asksForRange =
            outgoing.snapshot.fields.contains { ASCII.equalsIgnoringCase($0.name, "Range") }
            || request.context.defaultHeaders(for: url).headers.contains(name: "Range")
        guard !asksForRange else { return nil }
        switch UnaskedPart(head.headers) {
        case .whole: return nil
        case .unsaid where request.kind.purpose != .file: return nil
        case .part, .unsaid:
            let contentRange = head.headers.value(for: "Content-Range") ?? "no Content-Range"
            return CurlewError(
                .protocolViolation,
                phase: .receive,
                reason: "the server sent a part that was not asked for (206, \(contentRange))"
            )
        }
    }

    // MARK: The body

    func didReceive(body bytes: UnsafeRawBufferPointer) -> Disposition { receive(bytes, of: nil) }

    var keepsData: Bool {
        if case .delegated(let delegate) = state.withLock({ $0.reception }) {
            delegate.keepsData
        } else {
            false
        }
    }

    func didReceive(data: Data) -> Disposition { data.withUnsafeBytes { receive($0, of: data) } }

    private func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?) -> Disposition {
        switch state.withLock({ $0.route(of: bytes) }) {
        case .deliver(let delegate):
            let disposition = delegate.receive(bytes, of: data, in: self)
            if case .abort(let error) = disposition { return abort(error) }
            return disposition
        case .kept: return .proceed
        case .wait: return .pause
        case .refuse(let error): return abort(error)
        }
    }

    /// Ends the exchange with an error, on Curlew's side.
    private func abort(_ error: CurlewError) -> Disposition {
        state.withLock { $0.wasAborted = true }
        return .abort(error)
    }

    /// The length of the body according to its head, or -1.
    var lengthOfBody: Int64 { state.withLock { $0.download.total } }

    /// Counts bytes that the delegate has stored or delivered, and passes them to monitors of bodies.
    func received(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { $0.received += Int64(bytes.count) }
        if let reporter = downloadProgress { reporter.report(state.withLock { $0.download }) }
        let (request, task) = (request, id)
        events?.emitBody(bytes) { $0.request(request, task: task, didReceive: $1) }
    }

    /// Sets the number of received bytes, over all parallel transfers.
    func updateReceived(to whole: TransferCount) {
        state.withLock { $0.download = whole }
        downloadProgress?.report(whole)
    }

    /// Called when a resumed download starts at `count`.
    func continues(_ count: TransferCount) {
        state.withLock { $0.download = count }
        downloadProgress?.started(count)
    }

    private var downloadProgress: ProgressReporter? {
        request.record.withLock { $0.extras?.hooks.downloadProgress }
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        let count = TransferCount(completed: bodyBytes, total: expected ?? -1)
        guard let sent = state.withLock({ $0.sent(count) }) else { return }
        request.record.withLock { $0.extras?.hooks.uploadProgress }?.report(sent.shown)
        let (request, task) = (request, id)
        events?.emitPiece {
            $0.request(
                request,
                task: task,
                didSendBodyData: sent.added,
                totalBytesSent: count.completed,
                totalBytesExpectedToSend: count.total
            )
        }
    }

    // MARK: Called by the run

    /// Records the response, which is complete.
    func ended(_ response: TransferOutcome, _ metrics: TransferMetrics) {
        self.metrics = metrics
        trailers = response.trailers
        // Monitors are told later, when another exchange may have replaced this one's trailers.
        let dropped = response.trailers.map(\.name).filter { !TrailerFields.permits($0) }
        if !dropped.isEmpty { self.metrics?.droppedTrailers = dropped }
        let status = response.head.status
        if status == 401 || (300..<400).contains(status) || !response.answeredChallenges.isEmpty {
            outcomeForFollowUp = response
        }
    }

    func failed(_ error: CurlewError, _ metrics: TransferMetrics) {
        self.metrics = metrics
        failure = error
    }

    /// Whether the response is kept until the run has decided about it.
    var isProvisional: Bool {
        if case .provisional = state.withLock({ $0.reception }) { true } else { false }
    }

    /// Delivers a provisional response that no other request follows, and waits for the user's decision about the head.
    func decideDelivery() async throws(CurlewError) {
        var body = Data()
        if case .provisional(let response) = state.withLock({ $0.reception }) {
            body = response.body
            if case .abort(let error) = deliver(response.head) { throw error }
        }
        if let decision = state.withLock({ $0.decision }) {
            do {
                try await request.callingUserCode(ownsTask: false, budget: budget, in: .receive) {
                    await decision.wait()
                }
            } catch {
                throw (error as? CurlewError) ?? .cancelled
            }
            // Cancelling the driver's task ends the wait and cancels the request, as in `Run.send`.
            if Task.isCancelled { request.cancel() }
            if request.isCancelled { throw request.cancellation }
        }
        await untilReady()
        guard !body.isEmpty, try !deliverBody(body) else { return }
        // The delegate opens a file for the first bytes.
        await untilReady()
        _ = try deliverBody(body)
    }

    private func untilReady() async {
        if case .delegated(let delegate) = state.withLock({ $0.reception }) { await delegate.untilReady() }
    }

    /// Delivers the body of a provisional response. Returns `false` if it has to be delivered again.
    private func deliverBody(_ body: Data) throws(CurlewError) -> Bool {
        switch didReceive(data: body) {
        case .proceed: true
        case .pause: false
        case .abort(let error): throw error
        }
    }

    /// Stores the parts of the response that concern later requests: cookies, and the demand for https (HSTS). Does it
    /// once: for a WebSocket when it opens, or when its handshake has failed; for other exchanges when they have ended.
    func storeCookiesAndHSTS(from fields: HTTPHeaders) {
        if request.opensWebSocket {
            let isStored = state.withLock { state in
                defer { state.hasStoredCookies = true }
                return state.hasStoredCookies
            }
            if isStored { return }
        }
        let context = request.context
        context.configuration.hsts?.receive(fields, from: url)
        if outgoing.snapshot.handlesCookies { context.configuration.cookies?.receive(fields, from: url) }
    }
}
