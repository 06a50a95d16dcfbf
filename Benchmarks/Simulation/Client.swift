internal import CurlewCore

/// A session with its resilience: the same values as in `ResilienceControl` and the same steps, but with the
/// simulation's time, and numbers of calls instead of tasks.
struct Client {
    /// The verdicts on calls that have waited.
    typealias News = [(call: Int, verdict: AdmissionState.Verdict)]

    private let policy: AdmissionPolicy
    private let keys: AdmissionKeys
    private var admission: AdmissionState
    private var budget: RetryTokenBucket?
    private let hedging: Hedging?
    private var hedges = HedgeState()
    private let replicas: Int
    private var endpoints: EndpointState?
    private let isFailure: @Sendable (AttemptOutcome) -> Bool
    /// The waiting calls, by the numbers of their tickets.
    private var waiters: [Int: Int] = [:]
    /// The time of the tick that is scheduled.
    private var tick: Duration?

    init(_ stack: Stack, replicas: Int) {
        policy = stack.policy
        self.replicas = replicas
        endpoints = stack.strategy.flatMap { strategy in
            let servers = (0..<replicas).map { EndpointGroup.Endpoint("https://\($0).example.com") }
            return EndpointState(EndpointGroup(servers, strategy: strategy, ejection: stack.ejection))
        }
        // As in a session: without an ejection it decides only which servers a retry avoids.
        isFailure = (stack.ejection ?? EndpointGroup.Ejection()).isFailure
        admission = AdmissionState(stack.policy)
        budget = stack.budget
        hedging = stack.hedging
        keys = AdmissionKeys(
            rates: policy.rateLimit?.parts.map { _ in "server" } ?? [],
            quota: policy.rateLimit?.followsServer == true ? "server" : nil,
            places: policy.concurrency == nil ? nil : "server",
            circuit: policy.breaker == nil ? nil : "server")
    }

    mutating func deposit(at now: Duration) { budget?.requestStarted(at: Stack.start + now) }

    /// Chooses a server for an attempt, if possible not one of those that have failed the call. The choice has to be
    /// given back. It is `nil` if there is no rule.
    mutating func choose(
        avoiding failed: Set<Int>, at now: Duration, using random: inout Random
    ) -> (replica: Int, choice: EndpointState.Choice?) {
        if let choice = endpoints?.choose(avoiding: failed, at: now, using: &random) { return (choice.index, choice) }
        return (anyReplica(using: &random), nil)
    }

    /// Returns the server that a request meets if there is no rule.
    func anyReplica(using random: inout Random) -> Int {
        replicas == 1 ? 0 : Int.random(in: 0..<replicas, using: &random)
    }

    /// Returns whether the server has failed.
    mutating func finish(_ choice: EndpointState.Choice, _ outcome: AttemptOutcome?, at now: Duration) -> Bool {
        let isFailure = outcome.map(isFailure)
        endpoints?.finish(choice, isFailure: isFailure, at: now)
        return isFailure == true
    }

    mutating func ask(
        for call: Int, _ priority: RequestPriority, waitingUntil deadline: Duration, at now: Duration
    ) -> (AdmissionState.Answer, News) {
        let (answer, others) = admission.ask(keys, urgency: priority.urgency, deadline: deadline, at: now)
        let news = news(of: others)
        if case .waits(let ticket) = answer { waiters[ticket.number] = call }
        return (answer, news)
    }

    /// Withdraws a call that has waited for too long.
    mutating func leave(_ ticket: AdmissionState.Ticket, at now: Duration) -> News {
        guard admission.leave(ticket, keys) else { return [] }
        waiters[ticket.number] = nil
        return decide(at: now)
    }

    mutating func finish(
        _ permit: AdmissionState.Permit, _ outcome: AttemptOutcome?, _ advice: ServerAdvice?, at now: Duration
    ) -> News {
        let heard = policy.rateLimit?.followsServer == true ? advice : nil
        admission.finish(permit, outcome, outcome.flatMap { policy.breaker?.call($0) }, heard, at: now)
        return decide(at: now)
    }

    // MARK: Second copies

    /// Counts an attempt that is sent. Returns the time after which its second copy may be sent.
    mutating func hedgeDelay() -> Duration? { hedging.flatMap { hedges.requestStarts($0) } }

    /// Takes a second copy from the share, and admits it if every limit permits it at once.
    mutating func admitHedge(at now: Duration) -> (AdmissionState.Permit?, News) {
        guard hedges.take() else { return (nil, []) }
        let (answer, others) = admission.ask(
            keys, urgency: RequestPriority.background.urgency, deadline: now, at: now)
        let news = news(of: others)
        if case .decided(.admitted(let permit)) = answer { return (permit, news) }
        hedges.giveBack()
        return (nil, news)
    }

    mutating func responseBegan(after latency: Duration) { hedges.responseBegan(after: latency) }

    // MARK: Time

    mutating func decide(at now: Duration) -> News {
        admission.waiting > 0 ? news(of: admission.decide(at: now)) : []
    }

    /// Returns the time at which the next decision is due without another event. `nil` if no call waits, or if a tick
    /// is already scheduled no later.
    mutating func nextTick(at now: Duration) -> Duration? {
        guard admission.waiting > 0, let turn = admission.nextTurn(at: now), tick.map({ turn < $0 }) ?? true
        else { return nil }
        tick = turn
        return turn
    }

    mutating func tickCame(at now: Duration) -> News {
        if tick == now { tick = nil }
        return decide(at: now)
    }

    mutating func permitsRetry(after delay: Duration, at now: Duration) -> Bool {
        if admission.circuitIsOpen(keys, after: delay, at: now) { return false }
        return budget?.retryWanted(at: Stack.start + now) ?? true
    }

    private mutating func news(of decided: [(AdmissionState.Ticket, AdmissionState.Verdict)]) -> News {
        decided.compactMap { ticket, verdict in waiters.removeValue(forKey: ticket.number).map { ($0, verdict) } }
    }
}
