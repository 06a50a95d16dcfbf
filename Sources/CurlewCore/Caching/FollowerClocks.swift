/// How long a request waits for the response to another one, which was sent before it.
package struct FollowerClocks: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package enum Verdict: Sendable, Hashable {
        case firstByteTimedOut
        case totalTimedOut
        /// The response has begun, and does not go on: its own reader may have paused.
        case stalled
    }

    private let timeouts: Timeouts
    private let remaining: Duration?
    private let joined: Instant

    /// `remaining` is what is left of the request's total time when it `joined` those who wait.
    package init(_ timeouts: Timeouts, remaining: Duration?, joined: Instant) {
        self.timeouts = timeouts
        self.remaining = remaining
        self.joined = joined
    }

    /// What comes about if nothing else does, and when; nil for never. `lastHeard` is when something of the response has
    /// come last, nil before its head.
    package func limit(lastHeard: Instant?) -> (instant: Instant, verdict: Verdict)? {
        let own: (Instant, Verdict)? =
            if let lastHeard {
                timeouts.idle.map { (max(lastHeard, joined).advanced(by: $0), .stalled) }
            } else {
                timeouts.firstByte.map { (joined.advanced(by: $0), .firstByteTimedOut) }
            }
        let whole = remaining.map { (joined.advanced(by: $0), Verdict.totalTimedOut) }
        guard let own else { return whole }
        guard let whole, whole.0 <= own.0 else { return own }
        return whole
    }
}
