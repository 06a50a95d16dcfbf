internal import Foundation

/// How long to wait before trying again: `scale · base^retries` seconds, cut at `maximum`, spread by jitter.
package struct Backoff: Sendable, Hashable {
    /// At least 1: a smaller one counts as 1.
    package var base: UInt
    package var scale: Double
    package var maximum: Duration
    package var jitter: Jitter

    /// How the delay is spread, so that clients that failed together do not come back together.
    package enum Jitter: Sendable, Hashable {
        case none
        /// Anything between nothing and the delay, evenly.
        case full
    }

    package init(base: UInt = 2, scale: Double = 0.5, maximum: Duration = .seconds(60), jitter: Jitter = .full) {
        self.base = base
        self.scale = scale
        self.maximum = maximum
        self.jitter = jitter
    }

    /// The delay before retry number `retry` (0 is the first). What the server asked for by Retry-After is
    /// the least, but also cut at `maximum`, and not spread.
    package func delay(
        beforeRetry retry: Int,
        retryAfter: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let limit = maximum / .seconds(1)
        let exact = scale * pow(Double(max(base, 1)), Double(max(retry, 0)))
        // A NaN or negative scale, too, must not become a Duration.
        var seconds = exact > 0 ? min(exact, limit) : 0
        if jitter == .full { seconds *= Double.random(in: 0..<1, using: &generator) }
        let own = Duration.seconds(seconds)
        return retryAfter.map { max(own, min($0, maximum)) } ?? own
    }
}
