internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// One try: makes the `URLRequest`, adapts it, sends it and follows where redirects lead. Loop 2 of two.
struct Attempt {
    let request: Request
    let rules: RunRules
    let budget: TimeoutBudget
    let number: Int
    let events: EventSink?
    /// The identifier of the exchange in flight; a redirect's hop has its own.
    var task = TaskIdentifier(rawValue: 0)
    /// A redirect led away from the origin that its credentials are for.
    private(set) var hasLeftCredentials = false

    // The session is handed on, and not kept: a copy would be counted by every request, on every thread at once.
    // Inlined, as are the steps around it and within it that every request takes: each asynchronous function on the way
    // has a frame to make and an executor to look at.
    @inline(__always)
    mutating func run(_ start: TryStart, task: TaskIdentifier, in session: Session) async -> RunResult {
        self.task = task
        do throws(CurlewError) {
            return try await exchange(try await prepared(start, in: session), in: session)
        } catch {
            return ended(by: error)
        }
    }

    private func ended(by error: CurlewError) -> RunResult {
        var error = error
        if request.isCancelled { error = request.cancellation }
        let sent = request.record.withLock { $0.requests.last }
        if error.url == nil { error.url = sent?.url }
        error.attempt = number
        return RunResult(request: sent, error: error, resumeData: request.producedResumeData)
    }

    /// On the wire, until there is an answer.
    @inline(__always)
    private mutating func exchange(_ prepared: Prepared, in session: Session) async throws(CurlewError) -> RunResult {
        // Taken once: it is counted by every request, on every thread at once.
        let context = request.context
        var trail = Trail(sent: prepared.sent, isBegun: prepared.isBegun)
        var lowered = try lower(prepared)
        while true {
            // Before cookies are chosen: https has others than http.
            try context.upgrade(&lowered.url)
            if request.isHeld { try await request.untilLetGo(within: budget) }
            if let remaining = budget.remaining { lowered.options.timeouts.total = remaining }
            let delegate = request.makeDelegate(task: task, url: lowered.url, events: events, rules: rules)
            if !trail.isBegun, !request.begins(task, as: .running, events) { throw request.cancellation }
            let stored = StoredCredentials(for: &lowered, in: context, isRepeated: trail.isRepeated)
            stored.prepare(delegate, for: lowered.url, in: context)
            // Exchanges that are controlled measure themselves, also when they fail.
            let started = session.controlledTransport == nil ? Date() : nil
            trail.hasCookies = addCookies(to: &lowered, trail.sent)
            var performed = Performed.nothing
            var outcome = await perform(consume lowered, delegate, in: session, trail, &performed)
            let metrics = collectMetrics(of: outcome, since: started, hops: trail.hops)
            remember(outcome, delegate, trail.sent, in: context)
            // Nearly every response is an answer: nobody goes on from what was sent.
            if !outcome.isMereAnswer, let again = performed.request {
                lowered = again
                if await goesOn(from: &lowered, &outcome, stored, delegate, metrics, &trail, in: session) { continue }
            }
            // The exchange goes, with its body's file, before others look at the response.
            performed = .nothing
            return await concluded(outcome.failure, delegate, trail.sent, metrics)
        }
    }

    /// What one exchange of a try leaves to the next.
    struct Trail {
        var sent: SentRequest
        /// Monitors know of the exchange that is to come.
        var isBegun: Bool
        var hops: [RedirectHop] = []
        var answeredChallenges = 0
        /// A challenge of this origin was answered with what the session remembers.
        var isRepeated = false
        var hasCookies = false
    }

    /// Whether another exchange follows the response, with what `lowered` is then.
    // A function of its own: few responses need its frame, which is made when it is called.
    @inline(never)
    private mutating func goesOn(
        from lowered: inout TransferRequest,
        _ outcome: inout Result<TransferOutcome, CurlewError>,
        _ stored: StoredCredentials,
        _ delegate: TaskDelegate,
        _ metrics: TransferMetrics,
        _ trail: inout Trail,
        in session: Session
    ) async -> Bool {
        trail.isBegun = false
        // The next hop has others.
        if trail.hasCookies { lowered.headers.remove(name: "Cookie") }
        let keeps = { (used: TransferAuthentication) in keepsAuthentication(used) }
        if stored.learn(from: outcome, delegate, &lowered, in: request.context, keeps: keeps) {
            // The same exchange, as if the transport had answered the challenge.
            (trail.isRepeated, trail.isBegun) = (true, true)
            return true
        }
        guard case .success(let response) = outcome else { return false }
        if response.head.status == 401 {
            let answering = ChallengeAnswering(attempt: self, lowered: lowered, failureCount: trail.answeredChallenges)
            switch await answering.next(after: response.head) {
            case .deliver: outcome = await delivered(delegate, outcome)
            case .refuse(let error): outcome = .failure(error)
            case .again(let next):
                trail.answeredChallenges += 1
                emitStep(metrics)
                continues(with: next, &lowered, &trail, in: session)
                return true
            }
        }
        if (300..<400).contains(response.head.status) {
            let redirection = Redirection(
                attempt: self,
                lowered: lowered,
                urlRequest: trail.sent.urlRequest,
                hops: trail.hops
            )
            switch await redirection.next(after: response.head) {
            case .deliver: outcome = await delivered(delegate, outcome)
            case .refuse(let error): outcome = .failure(error)
            case .follow(let next, let nextRequest, let hop, let leavesCredentials):
                if leavesCredentials { hasLeftCredentials = true }
                emitStep(metrics, response.head, from: lowered.url, to: nextRequest)
                trail.hops.append(hop)
                trail.sent = .made(nextRequest)
                continues(with: next, &lowered, &trail, in: session)
                return true
            }
        }
        return false
    }

    private mutating func continues(
        with next: TransferRequest,
        _ lowered: inout TransferRequest,
        _ trail: inout Trail,
        in session: Session
    ) {
        trail.isRepeated = false
        task = session.nextTask(of: request, after: task)
        lowered = next
        lowered.identifier = task
    }

    /// The request is moved into its exchange; `performed` gives it back to those who go on from it.
    @inline(__always)
    private func perform(
        _ lowered: consuming TransferRequest,
        _ delegate: TaskDelegate,
        in session: Session,
        _ trail: Trail,
        _ performed: inout Performed
    ) async -> Result<TransferOutcome, CurlewError> {
        do throws(CurlewError) {
            if trail.isBegun { try startsEarlier() }
            if !trail.isRepeated { emitStart(lowered) }
            delegate.willPerform(lowered, in: session, within: budget)
            let bound = boundBody(of: lowered)
            defer { bound?.unbind() }
            guard let controlled = session.controlledTransport else {
                let outcome = try await session.transport.perform(lowered, sink: delegate)
                performed = .request(lowered)
                return .success(outcome)
            }
            let exchange = try controlled.makeExchange(consume lowered, sink: delegate)
            await withUnsafeContinuation { exchange.start(resuming: $0) }
            performed = .exchange(exchange)
            return .success(try exchange.outcome())
        } catch {
            return .failure(error)
        }
    }

    /// Made ready for the exchange, where it has to be.
    @inline(never)
    private func boundBody(of lowered: __shared TransferRequest) -> (any TaskBoundBody)? {
        guard case .stream(let stream, _) = lowered.body, let bound = stream as? any TaskBoundBody else { return nil }
        bound.bind()
        return bound
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
        let (request, task) = (request, task)
        events?.emitExchange(.collectedMetrics) {
            let reference = request.sessionReference
            return { $0.urlSession(reference, task: task, didFinishCollecting: metrics) }
        }
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
        request.record.withLock { record in
            guard let options = record.extras?.options else { return false }
            return options.keepsAuthentication && options.authentication == used
        }
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
    private func remember(
        _ outcome: Result<TransferOutcome, CurlewError>,
        _ delegate: TaskDelegate,
        _ sent: SentRequest,
        in context: SessionContext
    ) {
        // A response that was cut off, by its reader perhaps, had a head all the same.
        guard context.remembersFields, let fields = outcome.fields ?? delegate.head?.headers else { return }
        context.remember(fields, from: delegate.url, handlesCookies: sent.handlesCookies)
    }

    @inline(never)
    private func lower(_ prepared: Prepared) throws(CurlewError) -> TransferRequest {
        let wishes = request.record.withLock { $0.extras.flatMap { Lowering.Wishes.any(in: $0.options) } }
        let lowering = Lowering(context: request.context, wishes: wishes, purpose: request.purpose)
        return try lowering.lower(
            prepared.sent,
            body: prepared.upload?.source,
            task: task,
            attempt: number,
            remaining: budget.remaining
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
        events.emitLeading(.resumedTask) { { $0.request(request, didResumeTask: task) } }
        guard case .stream = lowered.body else { return }
        let reference = request.sessionReference
        events.emitExchange { $0.urlSession(reference, taskNeedsNewBodyStream: task) }
    }

    @inline(never)
    private func collectMetrics(
        of outcome: Result<TransferOutcome, CurlewError>,
        since started: Date?,
        hops: [RedirectHop]
    ) -> TransferMetrics {
        var metrics: TransferMetrics
        switch outcome {
        case .success(let response): metrics = response.metrics
        case .failure(let error):
            let now = Date()
            metrics = error.metrics ?? TransferMetrics(queued: started ?? now, ended: now)
        }
        if !hops.isEmpty { metrics.redirects = hops }
        // Setting it makes a copy, where the transport has not done so.
        if metrics.attempt != number { metrics.attempt = number }
        request.keep(metrics)
        return metrics
    }
}
