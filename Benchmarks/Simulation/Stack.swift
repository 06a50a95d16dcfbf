package import CurlewCore

/// The resilience features of a client's session.
package struct Stack: Sendable {
    package let name: String
    package var policy = AdmissionPolicy()
    /// The retry budget, full.
    package var budget: RetryTokenBucket?
    package var hedging: Hedging?
    /// The rule by which one of several servers is chosen. `nil`: by chance, as behind a single name.
    package var strategy: EndpointGroup.Strategy?
    /// When a server is left out.
    package var ejection: EndpointGroup.Ejection?

    /// Buckets count in instants. Only differences matter, so this one can be any.
    static let start = ContinuousClock.now

    private static let usualBudget = RetryTokenBucket(now: start)
    /// For thousands of clients, each of which needs few retries.
    private static let littleBudget = RetryTokenBucket(ratio: 0.2, minimumPerSecond: 0, capacity: 1, now: start)

    package static let none = Stack(name: "none")

    // MARK: One part

    package static let budget = Stack(name: "budget", budget: usualBudget)
    package static let smallBudget = Stack(name: "small budget", budget: littleBudget)
    package static let breaker = Stack(name: "breaker", policy: AdmissionPolicy(breaker: CircuitBreaker()))
    package static let adaptive = Stack(name: "adaptive", policy: AdmissionPolicy(concurrency: .adaptive()))
    package static let serversWord = Stack(name: "server's word", policy: AdmissionPolicy(rateLimit: .server()))
    package static let hedging = Stack(name: "hedging", hedging: .percentile(0.95))
    /// Hedges early, and without a limit of the share.
    package static let unlimitedHedging: Stack = {
        var hedging = Hedging.after(.milliseconds(100))
        hedging.maximumShare = 1
        return Stack(name: "unlimited hedging", hedging: hedging)
    }()
    package static let roundRobin = Stack(name: "round robin", strategy: .roundRobin)
    package static let leastOutstanding = Stack(name: "least outstanding", strategy: .leastOutstanding)

    /// Places for `count` requests of each client.
    package static func fixed(_ count: Int) -> Stack {
        Stack(name: "fixed \(count)", policy: AdmissionPolicy(concurrency: .fixed(count)))
    }

    /// For each client an even share of what the servers can take. They are not asked.
    package static func rate(of scenario: Scenario) -> Stack {
        var limit = RateLimit.requests(scenario.requestsPerSecond, per: .seconds(scenario.clients))
        limit.followsServer = false
        return Stack(name: "rate", policy: AdmissionPolicy(rateLimit: limit))
    }

    // MARK: Several parts

    package static let budgetAndBreaker = Stack(
        name: "budget and breaker", policy: AdmissionPolicy(breaker: CircuitBreaker()), budget: usualBudget)
    package static let roundRobinWithEjection = Stack(
        name: "round robin, ejection", strategy: .roundRobin, ejection: EndpointGroup.Ejection())
    package static let leastOutstandingWithEjection = Stack(
        name: "least outstanding, ejection", strategy: .leastOutstanding, ejection: EndpointGroup.Ejection())
    /// `Resilience.standard`. A test compares them.
    package static let standard = Stack(
        name: "standard",
        policy: AdmissionPolicy(rateLimit: .server(), concurrency: .adaptive(), breaker: CircuitBreaker()),
        budget: usualBudget)
    package static let standardWithHedging = Stack(
        name: "standard, hedging", policy: standard.policy, budget: usualBudget, hedging: .percentile(0.95))
    package static let standardWithSmallBudget = Stack(
        name: "standard, small budget", policy: standard.policy, budget: littleBudget)
}
