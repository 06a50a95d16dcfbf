/// The total timeout of a request, which includes its retries, redirects and waits.
package struct TimeoutBudget: Sendable {
    // A reference, because the size of an inline `ContinuousClock.Instant` is not known at compile time, and neither
    // would be the size of any type that contains the budget.
    private let limit: Limit?

    private final class Limit: Sendable {
        let started: ContinuousClock.Instant
        let total: Duration

        init(started: ContinuousClock.Instant, total: Duration) {
            self.started = started
            self.total = total
        }
    }

    package static let unlimited = TimeoutBudget(limit: nil)

    private init(limit: Limit?) { self.limit = limit }

    package init(total: Duration, started: ContinuousClock.Instant) {
        self.init(limit: Limit(started: started, total: total))
    }

    /// `nil` if there is no limit.
    package var total: Duration? { limit?.total }

    /// Returns the time that is left, at least zero; `nil` if there is no limit.
    package func remaining(at now: ContinuousClock.Instant) -> Duration? {
        limit.map { max($0.total - (now - $0.started), .zero) }
    }

    /// Whether a wait of this length would end in time.
    package func allows(_ wait: Duration, at now: ContinuousClock.Instant) -> Bool {
        remaining(at: now).map { wait < $0 } ?? true
    }
}

extension Duration {
    /// Converts any number of seconds. Negative numbers and NaN become zero, and numbers above a billion become a
    /// billion, because a Duration cannot represent all of them.
    package static func bounded(seconds: Double) -> Duration {
        seconds > 0 ? .seconds(min(seconds, 1_000_000_000)) : .zero
    }
}
