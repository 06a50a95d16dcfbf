/// Limits retries to a small fraction of all requests, so that they do not overwhelm a failing server.
///
/// Each request adds a fraction of a token to the bucket, and each retry takes one token. Time adds tokens too, so that
/// a client with few requests can retry.
package struct RetryTokenBucket: Sendable, Equatable {
    /// The number of retries per request in the long run.
    package let ratio: Double
    /// The number of retries per second that are always available.
    package let minimumPerSecond: Double
    /// The maximum number of retries in a burst.
    package let capacity: Double

    private var tokens: Double
    private var updated: ContinuousClock.Instant

    package init(
        ratio: Double = 0.2,
        minimumPerSecond: Double = 1,
        capacity: Double = 20,
        now: ContinuousClock.Instant
    ) {
        self.ratio = ratio
        self.minimumPerSecond = minimumPerSecond
        self.capacity = max(capacity, 0)
        tokens = self.capacity
        updated = now
    }

    package mutating func requestStarted(at now: ContinuousClock.Instant) {
        refill(at: now)
        tokens = min(tokens + ratio, capacity)
    }

    /// Whether a retry may be sent. If so, takes a token for it.
    package mutating func retryWanted(at now: ContinuousClock.Instant) -> Bool {
        refill(at: now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    private mutating func refill(at now: ContinuousClock.Instant) {
        guard now > updated else { return }
        tokens = min(tokens + (now - updated) / .seconds(1) * minimumPerSecond, capacity)
        updated = now
    }
}
