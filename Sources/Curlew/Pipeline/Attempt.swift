internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// One try: makes the `URLRequest`, adapts it, sends it and follows where redirects lead. Loop 2 of two.
struct Attempt {
    let request: Request
    let session: Session
    let rules: RunRules
    let budget: TimeoutBudget
    let number: Int
    let events: EventSink?
    /// The identifier of the exchange in flight; a redirect's hop has its own.
    var task = TaskIdentifier(rawValue: 0)

    init(request: Request, session: Session, rules: RunRules, budget: TimeoutBudget, number: Int) {
        self.request = request
        self.session = session
        self.rules = rules
        self.budget = budget
        self.number = number
        events = request.eventSink
    }

    mutating func run(task: TaskIdentifier) async -> RunResult {
        self.task = task
        do throws(CurlewError) {
            if let early = preparedAhead() { return try await exchange(try early.get()) }
            let adapters = request.adapters
            let initial = try begin(isSeen: !adapters.isEmpty)
            // Called only where there is something to wait for.
            let adapted = adapters.isEmpty ? initial : try await adapt(initial.urlRequest, with: adapters)
            let ready = try ready(adapted)
            return try await exchange(number > 0 && request.replacesBodies ? try await replacingBody(ready) : ready)
        } catch {
            var error = error
            if request.isCancelled { error = request.cancellation }
            let sent = request.record.withLock { $0.requests.last }
            if error.url == nil { error.url = sent?.url }
            error.attempt = number
            return RunResult(request: sent, error: error, resumeData: request.producedResumeData)
        }
    }

    // MARK: Before the wire

    struct Prepared {
        var sent: SentRequest
        var upload: UploadRequest.Uploadable?
        /// Whether monitors know of the exchange.
        var isBegun = false
    }

    private func preparedAhead() -> Result<Prepared, CurlewError>? {
        number == 0 && request.isSetUpAhead ? request.takePreparation() : nil
    }

    /// Everything before the wire, ahead of the request's start.
    func prepare() async throws(CurlewError) -> Prepared {
        let adapters = request.adapters
        let initial = try begin(isSeen: !adapters.isEmpty)
        return try ready(adapters.isEmpty ? initial : try await adapt(initial.urlRequest, with: adapters))
    }

    /// `isSeen`: somebody is going to look at the request.
    private func begin(isSeen: Bool) throws(CurlewError) -> SentRequest {
        try checkCancellation()
        return try initialRequest(isSeen: isSeen || events != nil)
    }

    private func ready(_ adapted: SentRequest) throws(CurlewError) -> Prepared {
        let upload = try request.makeUpload(events: events)
        try checkCancellation()
        if let events {
            let made = adapted.urlRequest
            events.emitLeading { [request] in $0.request(request, didCreateURLRequest: made) }
        }
        request.created(adapted)
        return Prepared(sent: adapted, upload: upload)
    }

    /// An earlier try has read what can be read only once.
    private func replacingBody(_ prepared: Prepared) async throws(CurlewError) -> Prepared {
        guard let spent = prepared.upload?.source else { return prepared }
        var prepared = prepared
        prepared.upload = UploadRequest.Uploadable(try await request.bodyToSendAgain(spent))
        return prepared
    }

    private func initialRequest(isSeen: Bool) throws(CurlewError) -> SentRequest {
        do {
            if !isSeen, let plain = try request.makePlainRequest() {
                request.record.withLock { $0.requests.append(plain) }
                return plain
            }
            let made = try request.makeURLRequest()
            try made.validate()
            request.record.withLock { $0.requests.append(.made(made)) }
            events?.emitLeading { [request] in $0.request(request, didCreateInitialURLRequest: made) }
            return .made(made)
        } catch {
            let failure = ErrorWrapping.creation(error)
            events?.emitLeading { [request] in $0.request(request, didFailToCreateURLRequestWithError: failure) }
            request.creationFailed()
            throw failure
        }
    }

    private func adapt(
        _ initial: URLRequest,
        with adapters: [any RequestAdapter]
    ) async throws(CurlewError) -> SentRequest {
        let state = RequestAdapterState(request: request, session: session)
        do {
            let adapted = try await request.foreign(ownsTask: rules.ownsTask, budget: budget, in: .adaptation) {
                var adapted = initial
                for adapter in adapters { adapted = try await adapter.adapt(adapted, using: state) }
                return adapted
            }
            try adapted.validate()
            request.record.withLock { $0.requests.append(.made(adapted)) }
            events?.emitLeading { [request] in $0.request(request, didAdaptInitialRequest: initial, to: adapted) }
            return .made(adapted)
        } catch {
            let timeout = (error as? CurlewError).flatMap { $0.code == .totalTimedOut ? $0 : nil }
            let failure = timeout ?? ErrorWrapping.adaptation(error)
            events?.emitLeading { [request] in
                $0.request(request, didFailToAdaptURLRequest: initial, withError: failure)
            }
            throw failure
        }
    }

    private func checkCancellation() throws(CurlewError) {
        if request.isCancelled { throw request.cancellation }
    }

    // MARK: On the wire

    private mutating func exchange(_ prepared: Prepared) async throws(CurlewError) -> RunResult {
        var sent = prepared.sent
        var hops: [RedirectHop] = []
        var answeredChallenges = 0
        var lowered = try lower(prepared)
        var isBegun = prepared.isBegun
        // A challenge of this origin was answered with what the session remembers.
        var isRepeated = false
        let transport = session.transport
        while true {
            // Before cookies are chosen: https has others than http.
            if let hsts = request.context.configuration.hsts { lowered.url = hsts.upgraded(lowered.url) }
            if request.isHeld { try await request.untilLetGo(within: budget) }
            if budget.total != nil { lowered.options.timeouts.total = budget.remaining(at: .now) }
            let delegate = request.makeDelegate(task: task, url: lowered.url, events: events, rules: rules)
            if !isBegun, !request.begins(task, as: .running, events) { throw request.cancellation }
            let stored = StoredCredentials(for: &lowered, context: request.context, isRepeated: isRepeated)
            stored.prepare(delegate, for: lowered.url)
            let started = Date()
            var outcome: Result<TransferOutcome, CurlewError>
            do throws(CurlewError) {
                let hasCookies = addCookies(to: &lowered, sent)
                // The next hop has others.
                defer { if hasCookies { lowered.headers.remove(name: "Cookie") } }
                if isBegun { try startsEarlier() }
                if !isRepeated { emitStart(lowered) }
                delegate.willPerform(lowered, over: transport, within: budget)
                outcome =
                    if let controlled = session.controlledTransport {
                        .success(try await controlled.performControlled(lowered, sink: delegate))
                    } else {
                        .success(try await transport.perform(lowered, sink: delegate))
                    }
            } catch {
                outcome = .failure(error)
            }
            isBegun = false
            if case .success(let response) = outcome { remember(response.head, from: lowered.url, sent) }
            let metrics = collectMetrics(of: outcome, since: started, hops: hops)
            if case .success(let response) = outcome {
                let wantsAgain = stored.learn(from: response, delegate, &lowered) { keepsAuthentication($0) }
                if wantsAgain {
                    // The same exchange, as if the transport had answered the challenge.
                    (isRepeated, isBegun) = (true, true)
                    continue
                }
                if response.head.status == 401 {
                    switch await challengeAnswer(to: response.head, lowered, answeredChallenges) {
                    case .deliver: outcome = await delivered(delegate, outcome)
                    case .refuse(let error): outcome = .failure(error)
                    case .again(let next):
                        answeredChallenges += 1
                        emitStep(metrics)
                        isRepeated = false
                        task = await session.nextTask(of: request, after: task)
                        lowered = next
                        lowered.identifier = task
                        continue
                    }
                }
            }
            // Nearly every response is an answer.
            if case .success(let response) = outcome, (300..<400).contains(response.head.status) {
                switch await redirection(after: response.head, lowered, sent, hops) {
                case .deliver: outcome = await delivered(delegate, outcome)
                case .refuse(let error): outcome = .failure(error)
                case .follow(let next, let nextRequest, let hop):
                    emitStep(metrics, response.head, from: lowered.url, to: nextRequest)
                    hops.append(hop)
                    isRepeated = false
                    sent = .made(nextRequest)
                    task = await session.nextTask(of: request, after: task)
                    lowered = next
                    lowered.identifier = task
                    continue
                }
            }
            let end = Conclusion(attempt: self, delegate: delegate, sent: sent, metrics: metrics)
            return await end.result(of: outcome)
        }
    }

    // Functions of their own for what few responses need: their frames are made when they are called.
    @inline(never)
    private func challengeAnswer(
        to head: ResponseHead,
        _ lowered: TransferRequest,
        _ answered: Int
    ) async -> ChallengeAnswering.Next {
        await ChallengeAnswering(attempt: self, lowered: lowered, failureCount: answered).next(after: head)
    }

    @inline(never)
    private func redirection(
        after head: ResponseHead,
        _ lowered: TransferRequest,
        _ sent: SentRequest,
        _ hops: [RedirectHop]
    ) async -> Redirection.Next {
        await Redirection(attempt: self, lowered: lowered, urlRequest: sent.urlRequest, hops: hops).next(after: head)
    }

    /// A response that was held back is the answer after all.
    private func delivered(
        _ delegate: TaskDelegate,
        _ outcome: Result<TransferOutcome, CurlewError>
    ) async -> Result<TransferOutcome, CurlewError> {
        do throws(CurlewError) {
            try await delegate.takeDetourAsAnswer(within: budget)
            return outcome
        } catch {
            return .failure(error)
        }
    }

    /// An exchange has ended, and another follows.
    private func emitStep(_ metrics: TransferMetrics) {
        let (task, reference) = (task, request.sessionReference)
        events?.emitExchange { $0.urlSession(reference, task: task, didFinishCollecting: metrics) }
    }

    /// A redirect is about to be followed.
    private func emitStep(_ metrics: TransferMetrics, _ head: ResponseHead, from url: URL, to next: URLRequest) {
        guard let events else { return }
        emitStep(metrics)
        let (task, reference) = (task, request.sessionReference)
        let response = LazyResponse(url: url, head: head)
        events.emitExchange { monitor in
            guard let lifted = response.value else { return }
            monitor.urlSession(reference, task: task, willPerformHTTPRedirection: lifted, newRequest: next)
        }
    }

    /// Whether it carries credentials that the user wants kept.
    private func keepsAuthentication(_ used: TransferAuthentication) -> Bool {
        request.record.withLock { $0.options.keepsAuthentication && $0.options.authentication == used }
    }

    /// A `Cookie` field of the user's own is sent as it is.
    @inline(never)
    private func addCookies(to lowered: inout TransferRequest, _ sent: SentRequest) -> Bool {
        guard let jar = request.context.configuration.cookies, sent.handlesCookies,
            !lowered.headers.contains(name: "Cookie"), let cookies = jar.header(for: lowered.url)
        else { return false }
        lowered.headers.append(name: "Cookie", value: cookies)
        return true
    }

    // Never inlined, nor what follows: temporaries would be part of the frame of `exchange`, which each request in flight
    // has.
    @inline(never)
    private func remember(_ head: ResponseHead, from url: URL, _ sent: SentRequest) {
        let context = request.context
        context.configuration.hsts?.receive(head.headers, from: url)
        guard let cookies = context.configuration.cookies, sent.handlesCookies else { return }
        cookies.receive(head.headers, from: url)
    }

    @inline(never)
    private func lower(_ prepared: Prepared) throws(CurlewError) -> TransferRequest {
        let wishes = request.record.withLock { Lowering.Wishes($0.options) }
        let lowering = Lowering(context: request.context, wishes: wishes, purpose: request.purpose)
        return try lowering.lower(
            prepared.sent,
            body: prepared.upload?.source,
            task: task,
            attempt: number,
            remaining: budget.total == nil ? nil : budget.remaining(at: .now)
        )
    }

    /// The exchange was set up ahead: monitors that know of it are told its end as well.
    private func startsEarlier() throws(CurlewError) {
        try checkCancellation()
        request.record.withLock { $0.taskState = .running }
    }

    @inline(never)
    private func emitStart(_ lowered: TransferRequest) {
        guard let events else { return }
        let (request, task) = (request, task)
        events.emitLeading { $0.request(request, didResumeTask: task) }
        guard case .stream = lowered.body else { return }
        let reference = request.sessionReference
        events.emitExchange { $0.urlSession(reference, taskNeedsNewBodyStream: task) }
    }

    @inline(never)
    private func collectMetrics(
        of outcome: Result<TransferOutcome, CurlewError>,
        since started: Date,
        hops: [RedirectHop]
    ) -> TransferMetrics {
        var metrics: TransferMetrics
        switch outcome {
        case .success(let response): metrics = response.metrics
        case .failure(let error): metrics = error.metrics ?? TransferMetrics(queued: started, ended: Date())
        }
        if !hops.isEmpty { metrics.redirects = hops }
        // Setting it makes a copy, where the transport has not done so.
        if metrics.attempt != number { metrics.attempt = number }
        request.keep(metrics)
        return metrics
    }
}
