/// Decides whether to ask a server that has not answered. The caller passes the time.
///
/// After three faults in a row the server is not asked for a pause, which doubles each time. After the pause one
/// question is sent as a trial, and its result decides.
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

    /// Whether a question may be sent at this time. If this is the end of a pause, the question is the trial.
    mutating func allows(at now: Instant) -> Bool {
        switch state {
        case .closed: return true
        case .open(let until, let pause):
            guard now >= until else { return false }
            state = .trying(since: now, pause: pause)
            return true
        // The result of the trial never arrived. It must not block for ever.
        case .trying(let since, let pause):
            guard now >= since.advanced(by: Self.longest) else { return false }
            state = .trying(since: now, pause: pause)
            return true
        }
    }

    /// Whether `allows(at:)` would permit a question. Starts no trial.
    func mayAllow(at now: Instant) -> Bool {
        var copy = self
        return copy.allows(at: now)
    }

    mutating func succeeded() { state = .closed(faults: 0) }

    /// Records that a question ended before it was sent.
    mutating func wasNotAsked(at now: Instant) {
        switch state {
        // The question may have been the trial. The next question takes its place.
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
        // The question was already under way when the breaker opened.
        case .open: break
        }
    }
}
