package import CurlewCore

/// The resilience features of a client's session.
package struct Stack: Sendable {
    package let name: String
    package var policy = AdmissionPolicy()
    /// The retries per call, per second and at once.
    package var budget: (ratio: Double, perSecond: Double, capacity: Double)?
    /// The rule by which one of several servers is chosen. `nil`: by chance, as behind a single name.
    package var strategy: EndpointGroup.Strategy?
    /// When a server is left out.
    package var ejection: EndpointGroup.Ejection?

    /// The defaults of `RetryBudget`.
    private static let usual = (ratio: 0.2, perSecond: 1.0, capacity: 20.0)

    package static let none = Stack(name: "none")
    package static let budget = Stack(name: "budget", budget: usual)
    package static let roundRobin = Stack(name: "round robin", strategy: .roundRobin)
    package static let leastOutstanding = Stack(name: "least outstanding", strategy: .leastOutstanding)
    package static let roundRobinWithEjection = Stack(
        name: "round robin, ejection", strategy: .roundRobin, ejection: EndpointGroup.Ejection())
    package static let leastOutstandingWithEjection = Stack(
        name: "least outstanding, ejection", strategy: .leastOutstanding, ejection: EndpointGroup.Ejection())
    /// For thousands of clients, each of which needs few retries.
    package static let smallBudget = Stack(name: "small budget", budget: (ratio: 0.2, perSecond: 0, capacity: 1))
    package static let breaker = Stack(name: "breaker", policy: AdmissionPolicy(breaker: CircuitBreaker()))
    package static let adaptive = Stack(name: "adaptive", policy: AdmissionPolicy(concurrency: .adaptive()))
    package static let serversWord = Stack(name: "server's word", policy: AdmissionPolicy(rateLimit: .server()))
    package static let budgetAndBreaker = Stack(
        name: "budget and breaker", policy: AdmissionPolicy(breaker: CircuitBreaker()), budget: usual)
    /// The parts and numbers of `Resilience.standard`.
    package static let standard = Stack(
        name: "standard",
        policy: AdmissionPolicy(rateLimit: .server(), concurrency: .adaptive(), breaker: CircuitBreaker()),
        budget: usual)
}

/// A session with its resilience: the same values as in `ResilienceControl` and the same steps, but with the
/// simulation's time, and numbers of calls instead of tasks.
struct Client {
    /// The verdicts on calls that have waited.
    typealias News = [(call: Int, verdict: AdmissionState.Verdict)]

    private let policy: AdmissionPolicy
    private let keys: AdmissionKeys
    private var admission: AdmissionState
    private var budget: RetryTokenBucket?
    private let replicas: Int
    private var endpoints: EndpointState?
    private let isFailure: @Sendable (AttemptOutcome) -> Bool
    /// The waiting calls, by the numbers of their tickets.
    private var waiters: [Int: Int] = [:]
    /// The time of the tick that is scheduled.
    private var tick: Duration?

    /// Buckets count in instants. Only differences matter, so this one can be any.
    private static let start = ContinuousClock.now

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
        budget = stack.budget.map {
            RetryTokenBucket(
                ratio: $0.ratio, minimumPerSecond: $0.perSecond, capacity: $0.capacity, now: Self.start)
        }
        keys = AdmissionKeys(
            rates: policy.rateLimit?.parts.map { _ in "server" } ?? [],
            quota: policy.rateLimit?.followsServer == true ? "server" : nil,
            places: policy.concurrency == nil ? nil : "server",
            circuit: policy.breaker == nil ? nil : "server")
    }

    mutating func deposit(at now: Duration) { budget?.requestStarted(at: Self.start + now) }

    /// Chooses a server for an attempt, if possible not one of those that have failed the call. The choice has to be
    /// given back. It is `nil` if there is no rule.
    mutating func choose(
        avoiding failed: Set<Int>, at now: Duration, using random: inout Random
    ) -> (replica: Int, choice: EndpointState.Choice?) {
        if let choice = endpoints?.choose(avoiding: failed, at: now, using: &random) { return (choice.index, choice) }
        return (replicas == 1 ? 0 : Int.random(in: 0..<replicas, using: &random), nil)
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
        _ permit: AdmissionState.Permit, _ outcome: AttemptOutcome, _ advice: ServerAdvice?, at now: Duration
    ) -> News {
        let heard = policy.rateLimit?.followsServer == true ? advice : nil
        admission.finish(permit, outcome, policy.breaker?.call(outcome), heard, at: now)
        return decide(at: now)
    }

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
        return budget?.retryWanted(at: Self.start + now) ?? true
    }

    var limit: Int? { admission.concurrency["server"]?.limit }

    private mutating func news(of decided: [(AdmissionState.Ticket, AdmissionState.Verdict)]) -> News {
        decided.compactMap { ticket, verdict in waiters.removeValue(forKey: ticket.number).map { ($0, verdict) } }
    }
}
