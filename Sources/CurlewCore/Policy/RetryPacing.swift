/// Keeps a request that is tried again without a pause from becoming a loop, whichever retrier asks for that.
///
/// The first few immediate retries are immediate: a new token, a lost connection. From then on each waits at least twice as
/// long as the one before it, up to a second, and at some point there is none. Retries after a real pause are not counted.
package struct RetryPacing: Sendable, Equatable {
    /// Immediate retries that nothing delays.
    package static let freeRetries = 5
    /// Immediate retries of one request. One more is refused.
    package static let limit = 100
    /// A shorter pause is none.
    package static let shortestPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    private var immediateRetries: Int

    package init(immediateRetries: Int = 0) { self.immediateRetries = immediateRetries }

    /// How long to wait before the next try, or nil where there have been too many without a pause.
    ///
    /// `waited` is what has passed since the failure, `asked` the pause that the retrier wants.
    package mutating func pause(asked: Duration, after waited: Duration) -> Duration? {
        guard asked + waited < Self.shortestPause else { return asked }
        immediateRetries += 1
        guard immediateRetries <= Self.limit else { return nil }
        let delayed = immediateRetries - Self.freeRetries
        guard delayed > 0 else { return asked }
        // 10 ms, 20 ms, … 640 ms, 1 s.
        return max(asked, min(.milliseconds(5) * (1 << min(delayed, 8)), Self.longestPause))
    }
}
