/// The wait of one step: for a time or for a gate.
struct StepWait {
    /// The time at which the current wait ends.
    var end: ContinuousClock.Instant?
    private var awaitsGate = false
    private var hasPassedGate = false

    mutating func gateOpened() { hasPassedGate = true }

    /// Returns `nil` when the time has passed; the first call starts the wait.
    mutating func wait(_ duration: Duration, _ now: ContinuousClock.Instant) -> Connection.Need? {
        guard let end else {
            end = now + duration
            return .time(now + duration)
        }
        guard now >= end else { return .time(end) }
        self.end = nil
        return nil
    }

    /// Returns `nil` if the gate is open or has opened since the first call. Otherwise calls `wakeLater` when it opens.
    mutating func wait(for gate: Gate, _ wakeLater: @escaping @Sendable () -> Void) -> Connection.Need? {
        if !awaitsGate {
            guard gate.whenOpen(wakeLater) else { return nil }
            awaitsGate = true
        }
        guard hasPassedGate else { return .event }
        awaitsGate = false
        hasPassedGate = false
        return nil
    }
}
