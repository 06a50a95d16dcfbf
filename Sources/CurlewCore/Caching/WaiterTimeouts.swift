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
