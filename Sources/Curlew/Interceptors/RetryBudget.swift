internal import CurlewCore
internal import CurlewLocks

/// Limits the retries of all requests together, so that a failing server is not overloaded by them.
///
/// Every request adds `ratio` of a retry to the budget when it starts, even if it is never retried; its policy may be
/// an interceptor or only a retrier. `minimumPerSecond` retries are always allowed. At most `capacity` retries
/// accumulate. Share one budget among the policies for one server, or set `Resilience.retryBudget`: then every origin has
/// a budget with these numbers, which limits all retriers.
public final class RetryBudget: Sendable {
    /// The retries per request, in the long run.
    package let ratio: Double
    /// The retries per second that are allowed even if there are few requests.
    package let minimumPerSecond: Double
    /// The maximum number of retries in one burst.
    package let capacity: Double

    private let bucket: Lock<RetryTokenBucket>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Creates a budget: `ratio` retries per request, at least `minimumPerSecond`, at most `capacity` at once.
    public convenience init(ratio: Double = 0.2, minimumPerSecond: Double = 1, capacity: Double = 20) {
        self.init(ratio: ratio, minimumPerSecond: minimumPerSecond, capacity: capacity) { .now }
    }

    init(
        ratio: Double,
        minimumPerSecond: Double,
        capacity: Double,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.ratio = ratio
        self.minimumPerSecond = minimumPerSecond
        self.capacity = capacity
        self.now = now
        bucket = Lock(
            RetryTokenBucket(ratio: ratio, minimumPerSecond: minimumPerSecond, capacity: capacity, now: now())
        )
    }

    /// Adds the share of a request that starts.
    func deposit() {
        let now = now()
        bucket.withLock { $0.requestStarted(at: now) }
    }

    /// Takes one retry from the budget. Returns `false` if the budget does not cover it.
    func withdraw() -> Bool {
        let now = now()
        return bucket.withLock { $0.retryWanted(at: now) }
    }
}

/// A retrier whose retries are limited by budgets, into which requests deposit.
package protocol BudgetedRetrier: RequestRetrier {
    /// The retrier's budget, or those of its parts.
    var budgets: [RetryBudget] { get }
}

extension RetryPolicy: BudgetedRetrier {
    package var budgets: [RetryBudget] { budget.map { [$0] } ?? [] }
}

extension Interceptor: BudgetedRetrier {
    package var budgets: [RetryBudget] { retriers.budgets }
}

extension [any RequestRetrier] {
    /// The budgets of all retriers, each of them once.
    package var budgets: [RetryBudget] {
        var found: [RetryBudget] = []
        for case let retrier as any BudgetedRetrier in self {
            for budget in retrier.budgets where !found.contains(where: { $0 === budget }) { found.append(budget) }
        }
        return found
    }
}

extension Request {
    /// The budgets that this request deposits into: those of all retriers that may be asked about it.
    fileprivate var retryBudgets: [RetryBudget] { retriers.budgets }

    /// Deposits into the budgets when the request starts.
    func paysIntoBudgets() {
        for budget in retryBudgets { budget.deposit() }
    }
}

extension RequestAdapterState {
    /// Whether the request deposited into this budget when it started. If not, only a user's interceptor that wraps the
    /// policy knows the budget, and the policy deposits when it adapts the first attempt.
    func hasPaid(into budget: RetryBudget) -> Bool {
        guard let request else { return false }
        return request.retryCount > 0 || request.retryBudgets.contains { $0 === budget }
    }
}
