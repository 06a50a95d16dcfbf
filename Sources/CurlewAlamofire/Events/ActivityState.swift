/// Decides when a sign of network activity appears and disappears. It has no clock: the caller measures the delays.
///
/// The sign appears when requests have run for a while, and disappears a while after the last one. A sign that
/// flickered with every short request would say nothing.
struct ActivityState: Sendable {
    enum Phase: Sendable, Hashable {
        case inactive
        /// Requests run; the sign has not appeared yet.
        case starting
        case active
        /// No request runs; the sign has not disappeared yet.
        case ending
    }

    enum Action: Sendable, Hashable {
        case nothing
        /// Call `delayPassed` with this number after the activation delay.
        case waitToStart(Int)
        /// Call `delayPassed` with this number after the completion delay.
        case waitToEnd(Int)
        case show
        case hide
    }

    private(set) var phase = Phase.inactive
    private(set) var count = 0
    private(set) var isEnabled = true
    /// The number of changes of the phase. A delay that began in an earlier phase is ignored.
    private var turn = 0

    mutating func requestStarted() -> Action {
        count += 1
        return update()
    }

    mutating func requestEnded() -> Action {
        count = max(0, count - 1)
        return update()
    }

    mutating func enabled(_ isEnabled: Bool) -> Action {
        guard isEnabled != self.isEnabled else { return .nothing }
        self.isEnabled = isEnabled
        guard !isEnabled else { return update() }
        let wasShown = isShown
        enter(.inactive)
        return wasShown ? .hide : .nothing
    }

    mutating func delayPassed(_ turn: Int) -> Action {
        guard turn == self.turn else { return .nothing }
        switch phase {
        case .inactive, .active: return .nothing
        case .starting:
            enter(.active)
            return .show
        case .ending:
            enter(.inactive)
            return .hide
        }
    }

    var isShown: Bool { phase == .active || phase == .ending }

    private mutating func update() -> Action {
        guard isEnabled else { return .nothing }
        switch (phase, count > 0) {
        case (.inactive, true):
            enter(.starting)
            return .waitToStart(turn)
        case (.starting, false):
            enter(.inactive)
            return .nothing
        case (.active, false):
            enter(.ending)
            return .waitToEnd(turn)
        case (.ending, true):
            enter(.active)
            return .nothing
        case (.inactive, false), (.starting, true), (.active, true), (.ending, false): return .nothing
        }
    }

    private mutating func enter(_ phase: Phase) {
        self.phase = phase
        turn += 1
    }
}
