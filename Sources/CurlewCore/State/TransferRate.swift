internal import Foundation

/// How fast bytes move, smoothed, and how long the rest will take. Time is passed in, in seconds of any clock
/// that does not go backwards.
///
/// Every byte counts with a weight that halves every few seconds, so the figure follows a change of speed
/// without jumping with each packet. A stall shows: with nothing arriving the rate falls toward zero.
package struct TransferRate: Sendable, Hashable {
    /// After so many seconds a byte counts half.
    private let halfLife: Double
    private var started: Double?
    private var last: Double = 0
    /// Bytes, each with its weight at `last`.
    private var weighted: Double = 0
    private var completed: Int64 = 0

    package init(halfLife: Double = 3) { self.halfLife = max(0.01, halfLife) }

    /// A transfer that begins with `completed` bytes already there: they cost no time.
    package mutating func start(at time: Double, completed: Int64 = 0) {
        started = time
        last = time
        weighted = 0
        self.completed = completed
    }

    /// So many bytes are there now, in all. A smaller number than before is a new attempt: it starts over.
    package mutating func update(completed: Int64, at time: Double) {
        guard started != nil, completed >= self.completed else { return start(at: time, completed: completed) }
        let now = max(time, last)
        weighted = weighted * Self.decay(now - last, halfLife) + Double(completed - self.completed)
        self.completed = completed
        last = now
    }

    /// nil until there is something to tell.
    package func bytesPerSecond(at time: Double) -> Double? {
        guard let started else { return nil }
        let now = max(time, last)
        let elapsed = now - started
        guard elapsed >= 0.05 else { return nil }
        // What a steady stream of one byte a second would have weighed since the start.
        let unit = halfLife / 0.693147180559945 * (1 - Self.decay(elapsed, halfLife))
        return weighted * Self.decay(now - last, halfLife) / unit
    }

    /// Seconds until `total` bytes are there; nil where that cannot be told.
    package func remainingTime(of total: Int64, at time: Double) -> Double? {
        guard total >= completed, let rate = bytesPerSecond(at: time) else { return nil }
        if total == completed { return 0 }
        return rate >= 1 ? Double(total - completed) / rate : nil
    }

    private static func decay(_ seconds: Double, _ halfLife: Double) -> Double { exp2(-seconds / halfLife) }
}
