/// Decides whether a server that has not answered is asked again. Time is passed in.
///
/// After three faults in a row it is left alone for a while, twice as long each time; then one question goes out, and its
/// answer decides.
struct RedisBreaker: Sendable {
    typealias Instant = ContinuousClock.Instant

    private static let mostFaults = 3
    private static let shortest = Duration.milliseconds(500)
    private static let longest = Duration.seconds(15)

    private enum State {
        case closed(faults: Int)
        case open(until: Instant, pause: Duration)
        case trying(since: Instant, pause: Duration)
    }

    private var state = State.closed(faults: 0)

    /// Whether a question may be sent now.
    mutating func allows(at now: Instant) -> Bool {
        switch state {
        case .closed: return true
        case .open(let until, let pause):
            guard now >= until else { return false }
            state = .trying(since: now, pause: pause)
            return true
        // A trial whose end was never told does not block for ever.
        case .trying(let since, let pause):
            guard now >= since.advanced(by: Self.longest) else { return false }
            state = .trying(since: now, pause: pause)
            return true
        }
    }

    /// Whether a question might be sent now.
    func mayAllow(at now: Instant) -> Bool {
        var copy = self
        return copy.allows(at: now)
    }

    mutating func succeeded() { state = .closed(faults: 0) }

    /// A question ended that was never sent.
    mutating func wasNotAsked(at now: Instant) {
        switch state {
        // It may have been the one that was let through: the next one is.
        case .trying(_, let pause): state = .open(until: now, pause: pause)
        case .closed, .open: break
        }
    }

    mutating func failed(at now: Instant) {
        switch state {
        case .closed(let faults):
            state =
                faults + 1 < Self.mostFaults
                ? .closed(faults: faults + 1) : .open(until: now.advanced(by: Self.shortest), pause: Self.shortest)
        case .trying(_, let pause):
            let pause = min(pause * 2, Self.longest)
            state = .open(until: now.advanced(by: pause), pause: pause)
        // One of the questions that were under way when it opened.
        case .open: break
        }
    }
}
