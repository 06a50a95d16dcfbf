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
