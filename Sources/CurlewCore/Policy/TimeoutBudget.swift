extension Duration {
    /// A number of seconds that may be anything: what is no number or negative is nothing, and what no Duration
    /// holds is an age.
    package static func bounded(seconds: Double) -> Duration {
        seconds > 0 ? .seconds(min(seconds, 1_000_000_000)) : .zero
    }
}

/// The total clock of a request: it runs through retries, redirects and waits.
package struct TimeoutBudget: Sendable, Equatable {
    package let started: ContinuousClock.Instant
    /// nil is no limit.
    package let total: Duration?

    package init(total: Duration?, started: ContinuousClock.Instant) {
        self.total = total
        self.started = started
    }

    /// What is left; never negative. nil without a limit.
    package func remaining(at now: ContinuousClock.Instant) -> Duration? {
        total.map { max($0 - (now - started), .zero) }
    }

    /// Whether a wait of that length would end in time.
    package func allows(_ wait: Duration, at now: ContinuousClock.Instant) -> Bool {
        remaining(at: now).map { wait < $0 } ?? true
    }
}
