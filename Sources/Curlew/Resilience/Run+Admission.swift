internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// The session's resilience admits every attempt before it is sent, and records its outcome afterwards. Without
// resilience a run has no control: nothing is admitted, and only the endpoint of an attempt, if it has one, gets the
// outcome.
extension Run {
    /// Waits until the session's limits permit the attempt. Otherwise throws `.limited`, `.circuitOpen` or
    /// `.queueTimedOut`, and nothing is sent.
    ///
    /// Not called if the session only hedges, which limits no attempt.
    func admit(_ next: inout OutgoingRequest, by control: ResilienceControl) async throws(CurlewError) {
        admission = nil
        do throws(CurlewError) {
            // A suspended request must not occupy a place. If it was suspended while it got its permit, it releases the
            // permit and waits again.
            repeat {
                if let permit = admission?.takePermit() { control.release(permit) }
                while hasToWait { try await waitUntilResumed(&next) }
                // Only the cache may answer this request, so it needs no admission.
                if next.transferRequest.options.cache?.policy == .onlyStored { return }
                let admitted = admission ?? beginAdmission(of: next, by: control)
                switch try ask(admitted.keys, next, by: control) {
                case .permit(let permit): admitted.permit = permit
                case .waits(let wait): admitted.permit = try await permit(after: wait, by: control)
                }
            } while request.record.withLock { $0.lifecycle.driverHasToWait }
        } catch {
            // The request was created, although it is not sent.
            if next.occasion.isFirst { try request.reportCreation(of: next.snapshot, events) }
            throw error
        }
    }

    /// Whether the request is suspended, or its options were read before its result was asked for.
    private var hasToWait: Bool {
        let sawDemand = attempt.options.sawDemand
        return request.record.withLock { record in
            record.lifecycle.driverHasToWait || !sawDemand && !record.lifecycle.isCancelled
        }
    }

    /// Waits while the request is suspended. Options that were set meanwhile still apply, as in `Run.startedLater`, and
    /// the total timeout begins if the result is asked for.
    private func waitUntilResumed(_ next: inout OutgoingRequest) async throws(CurlewError) {
        try await request.untilResumed(within: budget, sawDemand: attempt.options.sawDemand)
        readOptions()
        next.transferRequest = try transferRequest(for: next.snapshot, body: next.transferRequest.body)
    }

    /// Names the limits of the attempt. The first attempt adds its share to the retry budget.
    private func beginAdmission(of next: OutgoingRequest, by control: ResilienceControl) -> AdmittedAttempt {
        let origin = ConnectionSnapshot.Origin.description(of: next.transferRequest.url) ?? ""
        let keys = control.policy.keys(of: next.transferRequest, origin: origin, takesPlace: !request.opensWebSocket)
        let budgetOrigin = next.transferRequest.leavesOut(.retryBudget) ? nil : origin
        if retries.count == 0, let budgetOrigin { control.deposit(for: budgetOrigin) }
        let admitted = AdmittedAttempt(keys: keys, budgetOrigin: budgetOrigin)
        admission = admitted
        return admitted
    }

    /// The answer to a request that asks for its permit.
    private enum AdmissionAnswer {
        case permit(AdmissionState.Permit)
        case waits(AdmissionWait)
    }

    /// A wait for a permit.
    private struct AdmissionWait {
        let queued: ResilienceControl.QueuedRequest
        let asked: ContinuousClock.Instant
        /// The shorter of the queue timeout and the rest of the total timeout.
        let limit: Duration?
        let queueTimeout: Duration?
    }

    private func ask(
        _ keys: AdmissionKeys, _ next: OutgoingRequest, by control: ResilienceControl
    ) throws(CurlewError) -> AdmissionAnswer {
        let queue = next.transferRequest.options.timeouts.queue
        try budget.checkTimeIsLeft(.queue)
        let remaining = budget.remaining
        let waits = next.transferRequest.options.resilience?.waits ?? true
        let limit = waits ? [queue, remaining].compactMap(\.self).min() : .zero
        let asked = ContinuousClock.now
        switch control.ask(keys, request.priority, waitingFor: limit) {
        case .decided(let verdict): return .permit(try record(verdict, since: nil))
        case .waits(let queued):
            let endsAtQueueTimeout = queue.map { $0 <= remaining ?? $0 } ?? false
            return .waits(
                AdmissionWait(
                    queued: queued, asked: asked, limit: limit, queueTimeout: endsAtQueueTimeout ? queue : nil))
        }
    }

    /// Waits for the verdict about a request that the control has queued, and returns its permit. Throws
    /// `.queueTimedOut` or `.totalTimedOut` after the limit of the wait.
    private func permit(
        after wait: AdmissionWait, by control: ResilienceControl
    ) async throws(CurlewError) -> AdmissionState.Permit {
        let failure: CurlewError
        do {
            let limit = wait.limit.map { TimeoutBudget(total: $0, started: wait.asked) } ?? .unlimited
            try await request.callingUserCode(ownsTask: ownsTask, budget: limit, in: .queue) {
                if await wait.queued.verdict.wait() == nil { throw CurlewError.cancelled }
            }
            return try record(await wait.queued.verdict.waitThroughCancellation(), since: wait.asked)
        } catch {
            failure = error as? CurlewError ?? .cancelled
        }
        // Either the wait was ended, or the verdict was a refusal, after which the request no longer waits. A permit
        // that was granted at the same moment is released.
        if case .admitted(let permit)? = await control.leave(wait.queued) { control.release(permit) }
        if failure.code == .totalTimedOut {
            keep(Admission(timedOutAfter: .now - wait.asked))
            throw wait.queueTimeout.map { .notAdmitted(within: $0) } ?? .totalTimeout(budget.total, phase: .queue)
        }
        // Cancelling the driver's task cancels the request, as in `Run.send`.
        if failure.code == .cancelled, Task.isCancelled { request.cancel() }
        throw failure
    }

    /// Keeps the decision for the request's history, notifies monitors, and returns the permit.
    private func record(
        _ verdict: AdmissionState.Verdict, since asked: ContinuousClock.Instant?
    ) throws(CurlewError) -> AdmissionState.Permit {
        let waited = asked.map { ContinuousClock.now - $0 } ?? .zero
        let outcome = Admission(verdict, after: waited)
        keep(outcome)
        switch verdict {
        case .admitted(let permit): return permit
        case .refused(let refusal): throw refusal.error(outcome.description)
        }
    }

    private func keep(_ admission: Admission) {
        request.record.withLock { $0.history.lastAttempt.admission = admission }
        events?.emit { [request] in $0.request(request, didDecide: .attempt(admission)) }
    }

    /// Releases the permit and the endpoint of an attempt that has ended, and records its outcome. A second copy has a
    /// permit of its own, which gets that copy's outcome (`HedgedExchange.conclude`).
    func recordOutcome(of result: RunResult) {
        endpoints?.finish(result.error) { elapsed in
            guard !request.isCancelled, !result.isFromCache else { return nil }
            // An endpoint is chosen before the attempt is admitted.
            let age = admission?.permit.flatMap { request.context.resilience?.age(of: $0) }
            return attempt.redirectAway ?? outcome(of: result, after: min(elapsed, age ?? elapsed))
        }
        guard let control = request.context.resilience, let permit = admission?.takePermit() else { return }
        guard !request.isCancelled, !result.isFromCache else { return control.release(permit) }
        // Only the circuit records a redirect to another server, because its time is not known.
        if let redirect = attempt.redirectAway {
            return control.finish(permit, outcome: nil, advice: nil, seenByCircuit: redirect)
        }
        let behindStored = result.metrics?.exchangeBehindStored
        let head = behindStored != nil ? behindStored?.head : result.response?.head
        let advice =
            control.policy.rateLimit?.followsServer == true
            ? head.flatMap { ServerAdvice($0.headers, status: $0.status, now: Date()) } : nil
        var own = outcome(of: result, after: control.age(of: permit))
        // The response is the second copy's, and is recorded with its permit. A first copy that was cancelled counts as
        // having been as slow as the response that came instead.
        let failsAfterHead = own?.error.map { AttemptOutcome(error: $0).isServerFailure } ?? false
        if let hedge = result.metrics?.hedge, hedge.hasWon, let first = hedge.unusedOutcome, !failsAfterHead {
            own = first
        }
        control.finish(permit, outcome: own, advice: advice)
    }

    /// Returns the outcome of an attempt that took `elapsed`. `nil` if it says nothing about the server: it failed on
    /// this side, waited in vain for a connection, or had little of the total timeout or deadline, because waits,
    /// earlier attempts or other requests had used it.
    private func outcome(of result: RunResult, after elapsed: Duration) -> AttemptOutcome? {
        if result.ownError?.code == .totalTimedOut, let whole = budget.whole, elapsed < min(whole / 2, .seconds(1)) {
            return nil
        }
        return result.outcome(admittedFor: elapsed)
    }

    /// Whether the session's resilience permits a retry. Notifies monitors if it does not.
    func permitsRetry(after delay: Duration) -> Bool {
        guard let control = request.context.resilience, let admission else { return true }
        // The circuit belongs to the endpoint that has failed, but the retry is sent to another one.
        let keys = endpoints?.hasOthers == true ? nil : admission.keys
        guard let refusal = control.refusalOfRetry(of: keys, to: admission.budgetOrigin, after: delay) else {
            return true
        }
        events?.emit { [request] in $0.request(request, didDecide: refusal) }
        return false
    }
}

extension OngoingAttempt {
    /// The answer of the server to which the attempt was sent, if it was a redirect to another one, whose response says
    /// nothing about the first.
    fileprivate var redirectAway: AttemptOutcome? {
        guard let first = hops.first, let last = hops.last, !RedirectLocation.isSameOrigin(first.url, last.location)
        else { return nil }
        return AttemptOutcome(status: first.status)
    }
}

/// The names under which an attempt was admitted, and its permit until its outcome is known. A class, so that runs
/// without resilience have one empty pointer. It belongs to its run.
final class AdmittedAttempt {
    let keys: AdmissionKeys
    /// The origin whose retry budget applies. `nil` if the request leaves it out.
    let budgetOrigin: String?
    fileprivate(set) var permit: AdmissionState.Permit?

    init(keys: AdmissionKeys, budgetOrigin: String?) {
        (self.keys, self.budgetOrigin) = (keys, budgetOrigin)
    }

    fileprivate func takePermit() -> AdmissionState.Permit? { exchange(&permit, with: nil) }
}

extension RunResult {
    /// The error of the attempt's own exchange.
    fileprivate var ownError: CurlewError? {
        guard let exchange = metrics?.exchangeBehindStored else { return error }
        return exchange.error
    }

    /// Whether no server was asked for this request, or the response is not that of its exchange.
    fileprivate var isFromCache: Bool {
        switch metrics?.cacheStatus {
        // Of an exchange that several requests share, only the one that made it has the outcome.
        case .hit?, .stale?, .collapsed?: metrics?.exchangeBehindStored == nil
        default: false
        }
    }

    /// The outcome of an attempt that took `elapsed`. `nil` if it failed on this side, or waited in vain for a
    /// connection.
    fileprivate func outcome(admittedFor elapsed: Duration) -> AttemptOutcome? {
        if let exchange = metrics?.exchangeBehindStored {
            let latency = min(exchange.latency ?? elapsed, elapsed)
            guard let head = exchange.head else {
                return exchange.error.flatMap { AttemptOutcome.ofFailure($0, after: latency) }
            }
            return AttemptOutcome(status: head.status, error: exchange.error, latency: latency)
        }
        let status = response?.head.status
        // The time was spent in exchange adapters, middleware or a redirect handler.
        if let error, error.code == .totalTimedOut, [.adaptation, .redirect].contains(error.phase) { return nil }
        if status == nil, let error, AttemptOutcome.ofFailure(error, after: elapsed) == nil { return nil }
        var latency = elapsed
        if let metrics, let firstByte = metrics.firstByte {
            // The dates come from a clock that may be changed meanwhile; the elapsed time does not.
            latency = min(.bounded(seconds: firstByte.timeIntervalSince(metrics.queued)), elapsed)
        }
        return AttemptOutcome(status: status, error: error, latency: latency)
    }
}

extension AttemptOutcome {
    /// The outcome of an attempt that has no response. `nil` if the failure says nothing about the server: it occurred
    /// on this side, or the attempt waited for a connection in vain.
    static func ofFailure(_ error: CurlewError, after latency: Duration) -> AttemptOutcome? {
        let outcome = AttemptOutcome(error: error, latency: latency)
        return error.phase != .queue && outcome.isServerFailure ? outcome : nil
    }
}

extension AdmissionState.Refusal {
    fileprivate func error(_ reason: String) -> CurlewError {
        switch cause {
        case .open, .probing: .circuitOpen(reason, retryAfter: retryAfter)
        case .rate, .places, .shed: .limited(reason, retryAfter: retryAfter)
        }
    }
}

extension CurlewError {
    /// The error of a request that the session's limits did not permit within the queue timeout.
    fileprivate static func notAdmitted(within queue: Duration) -> CurlewError {
        CurlewError(
            .queueTimedOut, phase: .queue,
            reason: "no limit of the session permitted the request within \(queue), the queue timeout",
            isSafeToRetry: true)
    }
}
