/// Keeps a request that is retried without a pause from looping, whatever its retrier asks for.
///
/// The first few immediate retries are not delayed: a fresh token or a lost connection needs one. Each later one waits
/// twice as long as the one before it, up to a second, and beyond a limit the retry is refused. Retries after a real
/// pause do not count.
package struct RetryPacing: Sendable, Equatable {
    /// The number of immediate retries that are not delayed.
    package static let freeRetries = 5
    /// The maximum number of immediate retries of one request.
    package static let limit = 100
    /// The shortest pause that makes a retry not count as immediate.
    package static let shortestPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    private var immediateRetries: Int

    package init(immediateRetries: Int = 0) { self.immediateRetries = immediateRetries }

    /// Returns the pause before the next attempt; `nil` if there have been too many immediate retries.
    ///
    /// `waited` is the time since the failure, `asked` the pause that the retrier asks for.
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
