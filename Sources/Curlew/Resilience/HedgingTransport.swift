internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A transport that sends a second copy of slow requests, and uses the response that begins first.
///
/// It is below the cache, so a stored response is never hedged. It is below redirects, retries and segments, so each of
/// them is hedged separately. A session without hedging has no such transport.
final class HedgingTransport: Transport {
    let network: any Transport
    let resilience: ResilienceControl
    private let hedging: Hedging
    private let states = Lock<[ConnectionSnapshot.Origin: HedgeState]>([:])
    private static let manyOrigins = 4_096

    init(_ network: any Transport, _ hedging: Hedging, _ resilience: ResilienceControl) {
        (self.network, self.hedging, self.resilience) = (network, hedging, resilience)
    }

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        guard hedging.mayHedge(request), let origin = ConnectionSnapshot.Origin(request.url) else {
            return try await network.perform(request, sink: sink)
        }
        let delay = withState(of: origin) { [hedging] in $0.requestStarts(hedging) }
        let exchange = HedgedExchange(request, to: origin, sink, over: self)
        return try await exchange.outcome(hedgedAfter: delay)
    }

    /// Deducts a second copy from the share of its origin, and takes a permit from the session's limits. Returns `nil`
    /// if the copy must not be sent.
    func admit(_ request: TransferRequest, to origin: ConnectionSnapshot.Origin) -> AdmissionState.Permit? {
        guard withState(of: origin, { $0.take() }) else {
            resilience.hedgeWasRefused(origin.description, because: .share)
            return nil
        }
        // Called without a lock, because it is user code.
        let keys = resilience.policy.keys(of: request, origin: origin.description, takesPlace: true)
        if let permit = resilience.admitHedge(keys) { return permit }
        withState(of: origin) { $0.giveBack() }
        resilience.hedgeWasRefused(origin.description, because: .limits)
        return nil
    }

    func withState<Value>(of origin: ConnectionSnapshot.Origin, _ body: (inout HedgeState) -> Value) -> Value {
        states.withLock { states in
            // Bounded, so that origins that are used once do not accumulate. A forgotten origin starts again without a
            // share.
            if states.count >= Self.manyOrigins, states[origin] == nil { states = [:] }
            return body(&states[origin, default: HedgeState()])
        }
    }

    func shutdown() async { await network.shutdown() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        network.enforcedGuards(of: configuration)
    }
}

extension HedgingTransport: PoolingTransport {
    var connections: ConnectionSnapshot {
        get async { await network.pooledConnections }
    }

    func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError) {
        try await network.prewarmPool(for: request, connections: count)
    }
}

extension Result<TransferOutcome, CurlewError> {
    fileprivate var metrics: TransferMetrics? {
        switch self {
        case .success(let outcome): outcome.metrics
        case .failure(let error): error.metrics
        }
    }
}

/// One exchange that may be sent twice.
///
///     sink ◀── CopySink ◀── first copy ──────────────────────────┐
///       ▲         │                                              ├─▶ network
///       │     HedgedCopies: who has won                          │
///       │         │                                              │
///       └───── CopySink ◀── delay ─▶ admitted? ─▶ second copy ───┘
struct HedgedExchange: Sendable {
    private let request: TransferRequest
    private let origin: ConnectionSnapshot.Origin
    private let sink: any TransferSink
    private let transport: HedgingTransport
    private let copies = HedgedCopies()

    /// The second copy, once it has ended.
    private struct SecondCopy: Sendable {
        let delay: Duration
        let permit: AdmissionState.Permit
        let result: Result<TransferOutcome, CurlewError>
    }

    init(
        _ request: TransferRequest, to origin: ConnectionSnapshot.Origin, _ sink: any TransferSink,
        over transport: HedgingTransport
    ) {
        (self.request, self.origin, self.sink, self.transport) = (request, origin, sink, transport)
    }

    /// Performs the exchange, as `Transport.perform` does. Without a delay there is only one copy, whose latency is
    /// recorded.
    ///
    /// It returns when both copies have ended, so nothing calls the sink afterwards. The loser was cancelled.
    func outcome(hedgedAfter delay: Duration?) async throws(CurlewError) -> TransferOutcome {
        sink.willStart(copies)
        let (first, second) = await withTaskGroup(of: SecondCopy?.self) { group in
            if let delay { group.addTask { await secondCopy(after: delay) } }
            let first = await send(request, as: .first)
            // Ends the wait for a second copy that was not begun. A second copy that was begun is not cancelled here,
            // because it may have won or may still win.
            if !copies.isHedged { group.cancelAll() }
            return (first, await group.next() ?? nil)
        }
        let winner = copies.winner ?? .first
        var result = winner == .first ? first : second?.result ?? first
        if case .abort(let error)? = copies.deliverHeldHead(of: winner, to: sink) { result = .failure(error) }
        if let latency = copies.latency { transport.withState(of: origin) { $0.responseBegan(after: latency) } }
        if let second {
            result = conclude(second, winner, result, unused: (winner == .first ? second.result : first).metrics)
        }
        return try result.get()
    }

    private func send(
        _ request: TransferRequest, as copy: HedgeRace.Copy
    ) async -> Result<TransferOutcome, CurlewError> {
        let result: Result<TransferOutcome, CurlewError>
        do throws(CurlewError) {
            let sink = CopySink(copy, of: copies, to: sink)
            result = .success(try await transport.network.perform(request, sink: sink))
        } catch {
            result = .failure(error)
        }
        copies.ended(copy, result)
        return result
    }

    /// Sends the second copy after `delay`. Returns `nil` if it is not sent: the first copy has a response or has
    /// failed, the request is suspended or cancelled, or a limit does not permit it.
    private func secondCopy(after delay: Duration) async -> SecondCopy? {
        guard await copies.firstHasStarted.wait() != nil, await CancellableSleep.wait(for: delay),
            await copies.beginHedge()
        else {
            return nil
        }
        guard let permit = transport.admit(request, to: origin) else {
            copies.hedgeWasRefused()
            return nil
        }
        var copy = request
        if let total = request.options.timeouts.total {
            TimeoutBudget(total: total, started: copies.began)
                .apply(to: &copy, deadlineField: transport.resilience.settings.deadlineField)
        }
        let waited = copies.hedgeIsSent()
        return SecondCopy(delay: waited, permit: permit, result: await send(copy, as: .second))
    }

    /// Releases the permit of the second copy, counts the copy, and adds it to the metrics.
    ///
    /// Each permit gets the outcome of its own copy, because they may be those of different circuits, or of different
    /// phases of one: if the second copy has won, the run takes `unusedOutcome` for the attempt's permit. A copy that
    /// was cancelled because it has lost has no outcome.
    private func conclude(
        _ second: SecondCopy, _ winner: HedgeRace.Copy, _ result: Result<TransferOutcome, CurlewError>,
        unused: TransferMetrics?
    ) -> Result<TransferOutcome, CurlewError> {
        var outcome = copies.outcome(of: .second)
        // The run records a failure after the head, and decides about the total timeout.
        if winner == .second, case .failure = result { outcome = nil }
        if outcome?.error?.code == .totalTimedOut { outcome = nil }
        // The run knows the head of the winner.
        let head = copies.badHead(of: winner.other)
        let followsServer = transport.resilience.policy.rateLimit?.followsServer == true
        let advice =
            followsServer ? head.flatMap { ServerAdvice($0.headers, status: $0.status, now: Date()) } : nil
        transport.resilience.finish(second.permit, outcome: outcome, advice: advice)
        if winner == .second { transport.resilience.countHedgeWon() }
        let hedge = Hedge(
            delay: second.delay, hasWon: winner == .second, unused: unused,
            unusedOutcome: copies.outcome(of: winner.other))
        let change = { (metrics: inout TransferMetrics.Values) in
            metrics.hedge = hedge
            // The exchange began with the first copy.
            if hedge.hasWon { metrics.queued.addTimeInterval(-(hedge.delay / .seconds(1))) }
        }
        switch result {
        case .success(var outcome):
            outcome.metrics.update(change)
            return .success(outcome)
        case .failure(var error):
            error.metrics?.update(change)
            return .failure(error)
        }
    }
}

/// Passes on the events of one copy once it has won.
private final class CopySink: TransferSink {
    private let copy: HedgeRace.Copy
    private let copies: HedgedCopies
    private let sink: any TransferSink

    init(_ copy: HedgeRace.Copy, of copies: HedgedCopies, to sink: any TransferSink) {
        (self.copy, self.copies, self.sink) = (copy, copies, sink)
    }

    func willStart(_ control: any TransferControl) { copies.started(copy, control) }

    func didReceive(informational head: ResponseHead) {
        copies.forward(
            from: copy, to: sink, otherwise: { $0.informational.append(head) },
            { sink.didReceive(informational: head) })
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        copies.forward(
            from: copy, to: sink, otherwise: { $0.sent = (bodyBytes, expected) },
            { sink.didSend(bodyBytes: bodyBytes, of: expected) })
    }

    func didReceive(head: ResponseHead) -> Disposition {
        switch copies.headArrived(head, of: copy) {
        case .deliver: copies.deliverHeldHead(of: copy, to: sink) ?? .proceed
        case .hold: .pause
        case .drop: .abort(HedgedCopies.lost)
        }
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        switch copies.route(of: copy) {
        case .deliver: break
        // The copy was resumed before the race is decided. Its transport will deliver the bytes again.
        case .hold: return .pause
        case .drop: return .abort(HedgedCopies.lost)
        }
        // A head that was held is delivered by its copy's own calls, which never overlap.
        switch copies.deliverHeldHead(of: copy, to: sink) {
        case .proceed?, nil: return sink.didReceive(body: body)
        case .pause?: return .pause
        case .abort(let error)?: return .abort(error)
        }
    }
}
