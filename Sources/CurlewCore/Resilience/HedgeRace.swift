/// The race of two copies of a request. The first good response wins.
///
///     a copy:   absent ─ hedge ─▶ running ─┬─ good head, or the other copy has failed or is absent ─▶ wins
///                                          ├─ bad head while the other copy is running ─▶ held ──┐
///                                          └─ failure ─▶ failed                                  │
///     held ─┬─ the other copy has a good head ───────────────────▶ loses                         │
///           ├─ the other copy fails ─────────────────────────────▶ wins                          │
///           └─ the other copy has a bad head as well ─▶ the first copy wins ◀────────────────────┘
///
/// So a good response is better than a bad one, a bad one is better than a failure, and of two equal ones the first
/// copy's is used. If there is no winner, both copies have failed, and the first copy's failure is used.
///
/// A value type. The caller protects it by a lock, and carries out the commands of a step after it has released the
/// lock. The copies continue meanwhile. A copy that has lost is dropped at its next event, even if its cancellation has
/// not arrived.
package struct HedgeRace: Sendable {
    package enum Copy: Int, Sendable, Hashable {
        case first, second

        package var other: Copy { self == .first ? .second : .first }
    }

    package enum Stage: Sendable, Hashable {
        case absent
        /// No head has arrived.
        case running
        /// A bad head has arrived, and waits for the other copy.
        case held
        case failed
    }

    /// The decision about a head.
    package enum Verdict: Sendable, Hashable {
        case deliver
        /// The copy pauses.
        case hold
        /// The copy has lost.
        case drop
    }

    /// The calls that a step requires of the copies' controls.
    package struct Commands: Sendable, Hashable {
        /// The copy that has lost.
        package var cancel: Copy?
        /// The copy that was held and has won.
        package var resume: Copy?

        package init(cancel: Copy? = nil, resume: Copy? = nil) { (self.cancel, self.resume) = (cancel, resume) }
    }

    package private(set) var winner: Copy?
    private var stages: [Stage] = [.running, .absent]

    package init() {}

    package func stage(of copy: Copy) -> Stage { stages[copy.rawValue] }

    /// Whether the second copy was sent, or is about to be.
    package var isHedged: Bool { stage(of: .second) != .absent }

    /// Begins the second copy. Returns `false` if there must not be one: the first one has a head, or has failed.
    package mutating func hedge() -> Bool {
        guard winner == nil, stages == [.running, .absent] else { return false }
        stages[Copy.second.rawValue] = .running
        return true
    }

    /// Decides about the head of a copy.
    package mutating func headArrived(of copy: Copy, isGood: Bool) -> (Verdict, Commands) {
        if let winner { return (winner == copy ? .deliver : .drop, Commands()) }
        switch stage(of: copy.other) {
        case .absent, .failed: return (.deliver, win(copy))
        case .running where isGood, .held where isGood: return (.deliver, win(copy))
        case .running:
            stages[copy.rawValue] = .held
            return (.hold, Commands())
        case .held: return (copy == .first ? .deliver : .drop, win(.first))
        }
    }

    /// Records that a copy has failed, or was not sent after all.
    package mutating func failed(_ copy: Copy) -> Commands {
        stages[copy.rawValue] = .failed
        return winner == nil && stage(of: copy.other) == .held ? win(copy.other) : Commands()
    }

    private mutating func win(_ copy: Copy) -> Commands {
        winner = copy
        var commands = Commands()
        if stage(of: copy) == .held { commands.resume = copy }
        switch stage(of: copy.other) {
        case .running, .held: commands.cancel = copy.other
        case .absent, .failed: break
        }
        return commands
    }
}
