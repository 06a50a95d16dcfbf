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

/// Decides when a value that changes often is reported: the first change at once, later ones at intervals, the last one
/// at once.
///
/// Only the newest value is pending between two reports, and it is always reported, at most one interval late. Each
/// planned report has a ticket. A report that is superseded by another one has an outdated ticket and does not happen.
package struct Pacing: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        /// A report is planned already, or there is nothing to report.
        case none
        case tellNow(ticket: Int)
        /// Report after this number of seconds.
        case tell(after: Double, ticket: Int)
    }

    private enum Plan {
        case none, now, later
    }

    private let interval: Double
    private var plan = Plan.none
    private var ticket = 0
    /// The earliest time of the next report.
    private var next = -Double.infinity

    /// Creates a pacing with at least `interval` seconds between two reports.
    package init(interval: Double) { self.interval = max(0, interval) }

    /// Call for each new value. `isLast` tells that no further change is expected.
    package mutating func changed(at time: Double, isLast: Bool) -> Step {
        switch plan {
        case .now: return .none
        case .later: return isLast ? tellNow() : .none
        case .none:
            guard !isLast, time < next else { return tellNow() }
            plan = .later
            ticket += 1
            return .tell(after: next - time, ticket: ticket)
        }
    }

    /// Call after the last value: a pending report is due at once.
    package mutating func ended() -> Step { plan == .later ? tellNow() : .none }

    /// Call when a planned report is due. Returns `false` if it has been superseded and must not happen.
    package mutating func tells(_ ticket: Int, at time: Double) -> Bool {
        guard ticket == self.ticket, plan != .none else { return false }
        plan = .none
        next = time + interval
        return true
    }

    private mutating func tellNow() -> Step {
        plan = .now
        ticket += 1
        return .tellNow(ticket: ticket)
    }
}
