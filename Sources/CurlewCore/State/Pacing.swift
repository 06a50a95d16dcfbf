/// Decides when a value that changes often is told: the first at once, the next ones at intervals, the last at once.
///
/// Between two tellings the newest value waits: it is always told, an interval late at most. A telling is planned under a
/// ticket, and one that was overtaken by another has an old one.
package struct Pacing: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        /// A telling is planned already, or there is nothing to tell.
        case none
        case tellNow(ticket: Int)
        /// After so many seconds.
        case tell(after: Double, ticket: Int)
    }

    private enum Plan {
        case none, now, later
    }

    private let interval: Double
    private var plan = Plan.none
    private var ticket = 0
    /// Before that nothing is told.
    private var next = -Double.infinity

    /// So many seconds lie between two tellings at least.
    package init(interval: Double) { self.interval = max(0, interval) }

    /// There is a new value. `isLast`: it is not expected to change any more.
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

    /// There are no more values: what waits is told now.
    package mutating func ended() -> Step { plan == .later ? tellNow() : .none }

    /// It is that ticket's turn; false where it was overtaken.
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
