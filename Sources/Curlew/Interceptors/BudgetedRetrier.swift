/// A retrier whose retries are paid for by requests.
package protocol BudgetedRetrier: RequestRetrier {
    /// Its own, or those of its parts.
    var budgets: [RetryBudget] { get }
}

extension RetryPolicy: BudgetedRetrier {
    package var budgets: [RetryBudget] { budget.map { [$0] } ?? [] }
}

extension Interceptor: BudgetedRetrier {
    package var budgets: [RetryBudget] { retriers.budgets }
}

extension [any RequestRetrier] {
    /// Each of them once.
    package var budgets: [RetryBudget] {
        var found: [RetryBudget] = []
        for case let retrier as any BudgetedRetrier in self {
            for budget in retrier.budgets where !found.contains(where: { $0 === budget }) { found.append(budget) }
        }
        return found
    }
}

extension Request {
    /// Those that this request pays into: of all retriers that may be asked about it.
    var retryBudgets: [RetryBudget] { retriers.budgets }

    /// The request starts.
    func paysIntoBudgets() {
        for budget in retryBudgets { budget.deposit() }
    }
}

extension RequestAdapterState {
    /// Whether the request has paid in when it started. Otherwise the policy is known to an interceptor of the user's alone, which
    /// passes on what it is asked, and the first attempt pays.
    func hasPaid(into budget: RetryBudget) -> Bool {
        guard let request else { return false }
        return request.retryCount > 0 || request.retryBudgets.contains { $0 === budget }
    }
}
