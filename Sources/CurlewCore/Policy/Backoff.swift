internal import Foundation

/// An exponential delay between attempts: `scale · base^retries` seconds, at most `maximum`, spread by jitter.
package struct Backoff: Sendable, Hashable {
    /// Zero counts as 1.
    package var base: UInt
    package var scale: Double
    package var maximum: Duration
    package var jitter: Jitter

    /// The spread of the delay. It keeps clients that failed together from retrying together.
    package enum Jitter: Sendable, Hashable {
        case none
        /// Evenly distributed between zero and the delay.
        case full
    }

    package init(base: UInt = 2, scale: Double = 0.5, maximum: Duration = .seconds(60), jitter: Jitter = .full) {
        self.base = base
        self.scale = scale
        self.maximum = maximum
        self.jitter = jitter
    }

    /// Returns the delay before retry number `retry`, counted from 0. `retryAfter`, the delay of a Retry-After header,
    /// is the minimum; it is limited to `maximum` as well, but not spread.
    package func delay(
        beforeRetry retry: Int,
        retryAfter: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let limit = maximum / .seconds(1)
        let exact = scale * pow(Double(max(base, 1)), Double(max(retry, 0)))
        // `exact` may be NaN or negative; neither can be converted to a Duration.
        var seconds = exact > 0 ? min(exact, limit) : 0
        if jitter == .full { seconds *= Double.random(in: 0..<1, using: &generator) }
        let own = Duration.seconds(seconds)
        return retryAfter.map { max(own, min($0, maximum)) } ?? own
    }
}

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

    /// Whether the bucket equals a new one.
    package func isFull(at now: ContinuousClock.Instant) -> Bool {
        var later = self
        later.refill(at: now)
        return later.tokens >= capacity
    }

    private mutating func refill(at now: ContinuousClock.Instant) {
        guard now > updated else { return }
        tokens = min(tokens + (now - updated) / .seconds(1) * minimumPerSecond, capacity)
        updated = now
    }
}

/// The system's random number generator with storage, to pass `inout`.
///
/// `SystemRandomNumberGenerator` has no storage and therefore no address. All threads pass the same one `inout`, which
/// the thread sanitizer reports as a race.
package struct SystemRandom: RandomNumberGenerator {
    private var count: UInt8 = 0

    package init() {}

    package mutating func next() -> UInt64 {
        count &+= 1
        return .random(in: .min ... .max)
    }
}
