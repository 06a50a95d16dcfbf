/// Keeps retries a small part of all requests, so that they do not bury a server that is failing.
///
/// A bucket of tokens: each request puts a part of one in, each retry takes one out, and time adds some, so
/// that a client with few requests can still retry.
package struct RetryTokenBucket: Sendable, Equatable {
    /// Retries per request, in the long run.
    package let ratio: Double
    /// Retries per second that are always there.
    package let minimumPerSecond: Double
    /// Most retries in one burst.
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

    /// Whether a retry may go out; it is paid for then.
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
