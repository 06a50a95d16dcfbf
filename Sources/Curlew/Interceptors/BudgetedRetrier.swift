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
    var retryBudgets: [RetryBudget] { retriers.budgets }

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
