extension Duration {
    /// A number of seconds that may be anything: what is no number or negative is nothing, and what no Duration
    /// holds is an age.
    package static func bounded(seconds: Double) -> Duration {
        seconds > 0 ? .seconds(min(seconds, 1_000_000_000)) : .zero
    }
}

/// The total clock of a request: it runs through retries, redirects and waits.
package struct TimeoutBudget: Sendable {
    // A reference, and none without a limit: a request carries its budget through all of its steps, and the compiler
    // does not know the size of an instant, nor then that of anything that has one.
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

    /// nil is no limit.
    package var total: Duration? { limit?.total }

    /// What is left; never negative. nil without a limit.
    package func remaining(at now: ContinuousClock.Instant) -> Duration? {
        limit.map { max($0.total - (now - $0.started), .zero) }
    }

    /// What is left now. A clock is only read where there is a limit.
    package var remaining: Duration? { limit == nil ? nil : remaining(at: .now) }

    /// Whether a wait of that length would end in time.
    package func allows(_ wait: Duration, at now: ContinuousClock.Instant) -> Bool {
        remaining(at: now).map { wait < $0 } ?? true
    }
}
