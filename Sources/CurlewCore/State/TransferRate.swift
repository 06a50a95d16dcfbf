internal import Foundation

/// The smoothed speed of a transfer, and an estimate of its remaining time. Times are in seconds of any monotonic
/// clock.
///
/// The weight of each byte halves every few seconds, so the rate follows a change of speed without jumping with each
/// packet. During a stall the rate falls toward zero.
package struct TransferRate: Sendable, Hashable {
    /// The number of seconds after which the weight of a byte has halved.
    private let halfLife: Double
    private var started: Double?
    private var last: Double = 0
    /// The sum of all bytes, weighted as of `last`.
    private var weighted: Double = 0
    private var completed: Int64 = 0

    package init(halfLife: Double = 3) { self.halfLife = max(0.01, halfLife) }

    /// Starts a transfer. The `completed` bytes that are present already do not count toward the rate.
    package mutating func start(at time: Double, completed: Int64 = 0) {
        started = time
        last = time
        weighted = 0
        self.completed = completed
    }

    /// Updates the total number of bytes. A total below the previous one indicates a new attempt and starts over.
    package mutating func update(completed: Int64, at time: Double) {
        guard started != nil, completed >= self.completed else { return start(at: time, completed: completed) }
        let now = max(time, last)
        weighted = weighted * Self.decay(now - last, halfLife) + Double(completed - self.completed)
        self.completed = completed
        last = now
    }

    /// The current rate; `nil` within the first moments of a transfer.
    package func bytesPerSecond(at time: Double) -> Double? {
        guard let started else { return nil }
        let now = max(time, last)
        let elapsed = now - started
        guard elapsed >= 0.05 else { return nil }
        // The weighted sum that a steady stream of one byte per second would have reached since the start.
        let unit = halfLife / 0.693147180559945 * (1 - Self.decay(elapsed, halfLife))
        return weighted * Self.decay(now - last, halfLife) / unit
    }

    /// The number of seconds until `total` bytes are complete; `nil` if it cannot be estimated.
    package func remainingTime(of total: Int64, at time: Double) -> Double? {
        guard total >= completed, let rate = bytesPerSecond(at: time) else { return nil }
        if total == completed { return 0 }
        return rate >= 1 ? Double(total - completed) / rate : nil
    }

    private static func decay(_ seconds: Double, _ halfLife: Double) -> Double { exp2(-seconds / halfLife) }
}
