internal import Foundation

/// An exponential delay between attempts: `scale · base^retries` seconds, at most `maximum`, spread by jitter.
package struct Backoff: Sendable, Hashable {
    /// Zero counts as 1.
    package var base: UInt
    package var scale: Double
    package var maximum: Duration
    package var jitter: Jitter

    /// The spread of the delay. It keeps clients that failed at the same time from retrying at the same time.
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
