internal import CurlewCore
internal import CurlewLocks

/// The state that the copies of one request share, and the control that steers both.
///
///     event of a copy       the first one alone   both run               after the decision
///     1xx head, progress    to the sink           to its backlog         winner: to the sink
///     head                  wins                  good: wins, bad: held  winner: to the sink after its backlog
///     body                  –                     paused with its head   loser: dropped, and the copy aborted
///
///     owner ── suspend, resume, cancel ──▶ CombinedControl ──▶ both controls
///     copy ─── started, head, body, end ─▶ lock { HedgeRace } ──▶ commands, without the lock
///                                                                  ├─ cancel: the loser's control
///                                                                  └─ resume: the winner's, if its head was held
///
/// While it is alone, the first copy passes its upload progress and informational responses to the sink. While a second
/// copy runs, each copy keeps its events until it has won, because calls of the sink must not overlap. If the second one
/// is refused or fails, the first one is alone again. For the same reason a second copy that is due while the first one is making such a call waits until the call returns.
///
/// The race is decided under the lock, and its commands are carried out without it: a control may be a user's. In
/// between, the following may happen:
///
/// - The loser has no control yet. `started` finds that it has lost, and cancels it.
/// - The loser's head or body arrives before the cancellation. It is dropped, and the copy aborted.
/// - The loser has ended. Its control then does nothing.
/// - A held copy is resumed before its transport has recorded the pause. Transports expect that: they record a pause
///   before they call the sink, or take commands only after the turn.
/// - The owner suspends or cancels the request. The command reaches each copy that has started, and the others when
///   they start. So a copy may win and then fail with the owner's error.
///
/// It must not hold the sink: the sink may hold it as its control, and both would never be released.
final class HedgedCopies: TurnControl {
    /// The events of a copy, for delivery once it has won.
    struct Backlog: Sendable {
        var informational: [ResponseHead] = []
        var sent: (bytes: Int64, expected: Int64?)?
        /// A head that has not been delivered.
        var head: ResponseHead?

        /// Delivers the events that precede the head.
        func deliver(to sink: any TransferSink) {
            for head in informational { sink.didReceive(informational: head) }
            if let sent { sink.didSend(bodyBytes: sent.bytes, of: sent.expected) }
        }
    }

    private struct CopyState: Sendable {
        var control: (any TransferControl)?
        var backlog = Backlog()
        /// The copy's head, if it is bad and arrived before the race was decided.
        var badHead: ResponseHead?
        /// The copy's outcome, if it has won, or got a bad head or failed before the race was decided.
        var outcome: AttemptOutcome?
        /// The time from the beginning until the copy was sent.
        var start = Duration.zero
    }

    /// The controls that a step of the race commands.
    private struct Commanded: Sendable {
        let cancel: (any TransferControl)?
        let resume: (any TransferControl)?
    }

    private struct State: Sendable {
        var race = HedgeRace()
        var first = CopyState()
        var second = CopyState()
        /// Whether the owner has ended the request, for a reason that says nothing about the copies' server.
        var isEndedByOwner = false
        /// Whether a copy is calling the sink.
        var isForwarding = false
        /// Resolved when the first copy's call has returned. Only set if the second copy waits for that.
        var forwarded: OneShot<Void>?
        /// The time that the first copy has taken for a good head, or until it lost.
        var latency: Duration?

        subscript(copy: HedgeRace.Copy) -> CopyState {
            get { copy == .first ? first : second }
            _modify { if copy == .first { yield &first } else { yield &second } }
        }

        /// Whether the copy may call the sink.
        func mayCallSink(_ copy: HedgeRace.Copy) -> Bool {
            if let winner = race.winner { return winner == copy }
            return copy == .first && [.absent, .failed].contains(race.stage(of: .second))
        }

        func controls(_ commands: HedgeRace.Commands) -> Commanded {
            Commanded(
                cancel: commands.cancel.flatMap { self[$0].control },
                resume: commands.resume.flatMap { self[$0].control })
        }
    }

    static let lost = CurlewError(.cancelled, phase: .receive, reason: "the other copy of the request was faster")

    let began = ContinuousClock.now
    /// Resolved when the transport has begun the first copy, from which the delay counts. A transport that gives no
    /// control is never asked for a second copy, because the loser could not be cancelled.
    let firstHasStarted = OneShot<Void>()
    private let state = Lock(State())
    private let controls = CombinedControl()

    private var elapsed: Duration { ContinuousClock.now - began }

    var winner: HedgeRace.Copy? { state.withLock { $0.race.winner } }
    var isHedged: Bool { state.withLock { $0.race.isHedged } }
    var latency: Duration? { state.withLock { $0.latency } }

    // MARK: The owner's commands

    func resumeReceiving() { controls.resumeReceiving() }
    func suspend() { controls.suspend() }
    func resume() { controls.resume() }
    func cancel(with error: CurlewError) {
        state.withLock { $0.isEndedByOwner = true }
        controls.cancel(with: error)
    }

    /// Called by the sink within `didReceive(body:)`, so there is a winner. Over a transport without turns, each call
    /// is a turn.
    func atEndOfTurn(tell observer: any TurnObserver) {
        let control = state.withLock { state in state.race.winner.flatMap { state[$0].control } }
        if let turns = control as? any TurnControl {
            turns.atEndOfTurn(tell: observer)
        } else {
            observer.turnEnded()
        }
    }

    // MARK: The second copy

    /// Begins the second copy, as soon as the first one is not calling the sink. Returns `false` if it must not be sent.
    func beginHedge() async -> Bool {
        while !controls.holdsExchanges {
            let (isBegun, forwarded) = state.withLock { state -> (Bool, OneShot<Void>?) in
                guard state.isForwarding else { return (state.race.hedge(), nil) }
                let forwarded = OneShot<Void>()
                state.forwarded = forwarded
                return (false, forwarded)
            }
            guard let forwarded else { return isBegun }
            if await forwarded.wait() == nil { return false }
        }
        return false
    }

    /// Records and returns the time since the beginning. The latency of the second copy is measured from it.
    func hedgeIsSent() -> Duration {
        let elapsed = elapsed
        state.withLock { $0.second.start = elapsed }
        return elapsed
    }

    func hedgeWasRefused() {
        let commanded = state.withLock { $0.controls($0.race.failed(.second)) }
        carryOut(commanded)
    }

    // MARK: The transport's calls

    func started(_ copy: HedgeRace.Copy, _ control: any TransferControl) {
        let (hasLost, former) = state.withLock { state in
            (state.race.winner == copy.other, exchange(&state[copy].control, with: control))
        }
        controls.add(control, for: copy.rawValue)
        if hasLost { control.cancel(with: Self.lost) }
        if copy == .first { firstHasStarted.resolve(()) }
        withExtendedLifetime(former) {}
    }

    /// Calls the sink if the copy may do so; otherwise keeps the event for later. Of a copy that has lost, nothing is
    /// kept.
    func forward(
        from copy: HedgeRace.Copy, to sink: any TransferSink, otherwise keep: (inout Backlog) -> Void,
        _ call: () -> Void
    ) {
        let former = state.withLock { state -> Backlog? in
            guard state.mayCallSink(copy) else {
                if state.race.winner == nil { keep(&state[copy].backlog) }
                return nil
            }
            state.isForwarding = true
            // A head follows later, with `deliverHeldHead`.
            let head = state[copy].backlog.head
            return exchange(&state[copy].backlog, with: Backlog(head: head))
        }
        guard let former else { return }
        former.deliver(to: sink)
        call()
        let forwarded = state.withLock { state in
            state.isForwarding = false
            return exchange(&state.forwarded, with: nil)
        }
        forwarded?.resolve(())
    }

    /// Decides about a head. A head that is not dropped is added to the backlog, for `deliverHeldHead`.
    func headArrived(_ head: ResponseHead, of copy: HedgeRace.Copy) -> HedgeRace.Verdict {
        let (isGood, elapsed) = (Hedging.isGood(head), elapsed)
        let (verdict, commanded) = state.withLock { state in
            let firstWasRunning = state.race.stage(of: .first) == .running
            let wasDecided = state.race.winner != nil
            let (verdict, commands) = state.race.headArrived(of: copy, isGood: isGood)
            if verdict != .drop { state[copy].backlog.head = head }
            if !wasDecided {
                if !isGood { state[copy].badHead = head }
                state[copy].outcome = AttemptOutcome(status: head.status, latency: elapsed - state[copy].start)
                let firstIsSlow = firstWasRunning && state.race.winner == .second
                if copy == .first ? isGood : firstIsSlow { state.latency = elapsed }
            }
            return (verdict, state.controls(commands))
        }
        carryOut(commanded)
        return verdict
    }

    /// Decides about the bytes of a body.
    func route(of copy: HedgeRace.Copy) -> HedgeRace.Verdict {
        switch state.withLock({ $0.race.winner }) {
        case copy?: .deliver
        case nil: .hold
        case .some: .drop
        }
    }

    /// Delivers a head that the sink has not received, after the events that precede it. Returns `nil` if there is
    /// none.
    func deliverHeldHead(of copy: HedgeRace.Copy, to sink: any TransferSink) -> Disposition? {
        let backlog = state.withLock { state -> Backlog? in
            guard state[copy].backlog.head != nil else { return nil }
            return exchange(&state[copy].backlog, with: Backlog())
        }
        guard let backlog, let head = backlog.head else { return nil }
        backlog.deliver(to: sink)
        return sink.didReceive(head: head)
    }

    /// Called when the copy's `perform` has returned.
    func ended(_ copy: HedgeRace.Copy, _ result: Result<TransferOutcome, CurlewError>) {
        controls.remove(copy.rawValue)
        let elapsed = elapsed
        let (commanded, former) = state.withLock { state in
            var commands = HedgeRace.Commands()
            if case .failure(let error) = result {
                if state.race.winner == nil, state[copy].outcome == nil, !state.isEndedByOwner {
                    state[copy].outcome = AttemptOutcome.ofFailure(error, after: elapsed - state[copy].start)
                }
                commands = state.race.failed(copy)
            }
            return (state.controls(commands), exchange(&state[copy].control, with: nil))
        }
        carryOut(commanded)
        withExtendedLifetime(former) {}
    }

    private func carryOut(_ commanded: Commanded) {
        commanded.cancel?.cancel(with: Self.lost)
        commanded.resume?.resumeReceiving()
    }

    // MARK: After both have ended

    /// Returns the outcome of a copy. `nil` if it was cancelled, because it had lost.
    func outcome(of copy: HedgeRace.Copy) -> AttemptOutcome? { state.withLock { $0[copy].outcome } }

    /// Returns the head of a copy, if it is bad and arrived before the race was decided.
    func badHead(of copy: HedgeRace.Copy) -> ResponseHead? { state.withLock { $0[copy].badHead } }
}
