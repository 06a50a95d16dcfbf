/// The total timeout of a request, which includes its retries, redirects and waits.
package struct TimeoutBudget: Sendable {
    // A reference, because the size of an inline `ContinuousClock.Instant` is not known at compile time, and neither
    // would be the size of any type that contains the budget.
    private let limit: Limit?

    private final class Limit: Sendable {
        let started: ContinuousClock.Instant
        let total: Duration
        let whole: Duration

        init(started: ContinuousClock.Instant, total: Duration, whole: Duration) {
            self.started = started
            self.total = total
            self.whole = whole
        }
    }

    package static let unlimited = TimeoutBudget(limit: nil)

    private init(limit: Limit?) { self.limit = limit }

    /// `whole` is the time of which `total` is the rest, if other work has used some of it.
    package init(total: Duration, started: ContinuousClock.Instant, whole: Duration? = nil) {
        self.init(limit: Limit(started: started, total: total, whole: max(whole ?? total, total)))
    }

    /// `nil` if there is no limit.
    package var total: Duration? { limit?.total }
    /// The time of a deadline that other requests share, if the total timeout is the rest of it; otherwise `total`.
    package var whole: Duration? { limit?.whole }

    /// Returns the time that is left, at least zero; `nil` if there is no limit.
    package func remaining(at now: ContinuousClock.Instant) -> Duration? {
        limit.map { max($0.total - (now - $0.started), .zero) }
    }

    /// Whether a wait of this length would end in time.
    package func allows(_ wait: Duration, at now: ContinuousClock.Instant) -> Bool {
        remaining(at: now).map { wait < $0 } ?? true
    }
}

/// The time limits of a request that waits for the response to an identical one that is being fetched.
package struct WaiterTimeouts: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package enum Verdict: Sendable, Hashable {
        case firstByteTimedOut
        case totalTimedOut
        /// The response has begun but makes no progress: the reader of the other request may have paused.
        case stalled
    }

    private let timeouts: Timeouts
    private let remaining: Duration?
    private let joined: Instant

    /// `remaining` is the request's remaining total time at the instant `joined`, when it began to wait.
    package init(_ timeouts: Timeouts, remaining: Duration?, joined: Instant) {
        self.timeouts = timeouts
        self.remaining = remaining
        self.joined = joined
    }

    /// Returns the next time limit to expire and its meaning; `nil` without a limit. `lastBytes` is when bytes of the
    /// response last arrived, `nil` before its head.
    package func limit(lastBytes: Instant?) -> (instant: Instant, verdict: Verdict)? {
        let own: (Instant, Verdict)? =
            if let lastBytes {
                timeouts.idle.map { (max(lastBytes, joined).advanced(by: $0), .stalled) }
            } else {
                timeouts.firstByte.map { (joined.advanced(by: $0), .firstByteTimedOut) }
            }
        let whole = remaining.map { (joined.advanced(by: $0), Verdict.totalTimedOut) }
        guard let own else { return whole }
        guard let whole, whole.0 <= own.0 else { return own }
        return whole
    }
}

extension Duration {
    /// Converts any number of seconds. Negative numbers and NaN become zero, and numbers above a billion become a
    /// billion, because a Duration cannot represent all of them.
    package static func bounded(seconds: Double) -> Duration {
        seconds > 0 ? .seconds(min(seconds, 1_000_000_000)) : .zero
    }
}
