internal import CurlewCore

/// An attempt that was sent, with its second copy if it has one. `HedgeRace` decides which copy is used; the outcomes
/// are recorded as by `HedgedExchange` and `Run.recordOutcome`.
struct Exchange {
    /// The end of a copy.
    enum Answer {
        case response(ResponseHead)
        case failure(CurlewError)
    }

    struct Result {
        /// The outcome of the attempt.
        let outcome: AttemptOutcome
        let head: ResponseHead?
        /// The latency from which hedging learns.
        let latency: Duration?
        /// The outcomes for the permits of the attempt and of its second copy. The latter is `nil` if that was cancelled.
        let first: AttemptOutcome
        let second: AttemptOutcome?
        /// The head of the copy that is not used.
        let unusedHead: ResponseHead?
    }

    private struct Copy {
        let sent: Duration
        var answer: (Answer, time: Duration)?

        var head: ResponseHead? { if case .response(let head)? = answer?.0 { head } else { nil } }

        /// The outcome, with a latency that counts from `start`.
        func outcome(since start: Duration) -> AttemptOutcome? {
            answer.map { answer, time in
                switch answer {
                case .response(let head): AttemptOutcome(status: head.status, latency: time - start)
                case .failure(let error): AttemptOutcome(error: error, latency: time - start)
                }
            }
        }
    }

    let permit: AdmissionState.Permit
    /// The permit of the second copy.
    private(set) var secondPermit: AdmissionState.Permit?
    private var race = HedgeRace()
    private var first: Copy
    private var second: Copy?

    init(_ permit: AdmissionState.Permit) {
        self.permit = permit
        first = Copy(sent: permit.admitted)
    }

    /// Whether the copy was sent and has no answer.
    func isRunning(_ copy: HedgeRace.Copy) -> Bool { race.stage(of: copy) == .running }

    /// Begins the second copy. Returns `false` if there must not be one.
    mutating func beginHedge() -> Bool { race.hedge() }

    mutating func hedgeWasRefused() { _ = race.failed(.second) }

    mutating func hedgeIsSent(_ permit: AdmissionState.Permit) {
        (secondPermit, second) = (permit, Copy(sent: permit.admitted))
    }

    /// Records the end of a copy. Returns the result of the attempt, or `nil` if the other copy decides.
    mutating func end(_ copy: HedgeRace.Copy, _ answer: Answer, at now: Duration) -> Result? {
        let firstWasRunning = isRunning(.first)
        if copy == .first { first.answer = (answer, now) } else { second?.answer = (answer, now) }
        var isGood = false
        switch answer {
        case .response(let head):
            isGood = Hedging.isGood(head)
            _ = race.headArrived(of: copy, isGood: isGood)
        case .failure:
            _ = race.failed(copy)
        }
        if race.winner == nil, isRunning(.first) || isRunning(.second) { return nil }
        let (winner, loser) = race.winner == .second ? (second ?? first, first) : (first, second)
        guard let outcome = winner.outcome(since: first.sent) else { return nil }
        let firstIsSlow = firstWasRunning && race.winner == .second
        return Result(
            outcome: outcome, head: winner.head,
            latency: (copy == .first ? isGood : firstIsSlow) ? now - first.sent : nil,
            // A first copy that was cancelled counts as having been as slow as the response that came instead.
            first: first.outcome(since: first.sent) ?? outcome,
            second: second.flatMap { $0.outcome(since: $0.sent) }, unusedHead: loser?.head)
    }
}
