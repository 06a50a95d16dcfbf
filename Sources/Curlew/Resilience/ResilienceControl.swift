package import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// The limits, circuits and budgets of a session, and the requests that wait for them.
///
/// `AdmissionState` makes all decisions. This class adds a lock, the clock, a timer for the next turn, the waiting
/// tasks, and tasks that ask a fleet.
package final class ResilienceControl: Sendable {
    /// A request that waits.
    package struct QueuedRequest: Sendable {
        let ticket: AdmissionState.Ticket
        let keys: AdmissionKeys
        package let verdict: OneShot<AdmissionState.Verdict>
    }

    package enum Answer {
        case decided(AdmissionState.Verdict)
        case waits(QueuedRequest)
    }

    private struct State {
        var admission: AdmissionState
        /// The waiting tasks, by the numbers of their tickets.
        var waiters: [Int: OneShot<AdmissionState.Verdict>] = [:]
        /// The times of the ticks that are scheduled, the earliest last.
        var ticks: [Duration] = []
        var budgets: [String: RetryTokenBucket] = [:]
        var counts = ResilienceSnapshot.Counts()
        var observer: (@Sendable (SessionDecision) -> Void)?
    }

    /// What follows from a decision, and is done without the lock: waiting tasks get their verdicts, and a fleet its
    /// orders.
    private struct Consequences {
        let verdicts: [(waiter: OneShot<AdmissionState.Verdict>, verdict: AdmissionState.Verdict)]
        let orders: [AdmissionState.FleetOrder]
    }

    let settings: Resilience
    let policy: AdmissionPolicy
    let admitsAttempts: Bool
    /// Returns an outcome as circuits count it. `nil` without a breaker. Kept apart from the policy, so that an attempt
    /// does not copy the breaker.
    private let call: (@Sendable (AttemptOutcome) -> CircuitState.Call)?
    private let state: Lock<State>
    /// The time since any fixed start.
    private let clock: @Sendable () -> Duration
    private static let timer = DispatchQueue(label: "curlew.admission")
    private static let manyBudgets = 4_096

    /// `nil` if nothing is switched on.
    package init?(_ settings: Resilience, clock: @escaping @Sendable () -> Duration = ResilienceControl.newClock()) {
        if !settings.admitsAttempts, settings.hedging == nil { return nil }
        (self.settings, self.clock) = (settings, clock)
        admitsAttempts = settings.admitsAttempts
        let policy = settings.policy
        self.policy = policy
        if let breaker = policy.breaker { call = { breaker.call($0) } } else { call = nil }
        state = Lock(making: { State(admission: AdmissionState(policy)) })
    }

    /// Calls `observer` with each decision that concerns more than one request. It is called under the lock, so that the
    /// decisions arrive in their order: it must not block or call this object.
    func report(to observer: @escaping @Sendable (SessionDecision) -> Void) {
        state.withLock { $0.observer = observer }
    }

    private var now: Duration { clock() }

    /// Returns a clock that begins at zero.
    package static func newClock() -> @Sendable () -> Duration {
        let start = ContinuousClock.now
        return { ContinuousClock.now - start }
    }

    /// The time since the admission of an attempt.
    func age(of permit: AdmissionState.Permit) -> Duration { now - permit.admitted }

    // MARK: Admission

    /// Decides about a request that waits for at most `limit`.
    package func ask(_ keys: AdmissionKeys, _ priority: RequestPriority, waitingFor limit: Duration?) -> Answer {
        ask(keys, priority, waitingFor: limit) { $0.add($1) }
    }

    /// `count` counts a verdict that is known at once.
    private func ask(
        _ keys: AdmissionKeys, _ priority: RequestPriority, waitingFor limit: Duration?,
        counting count: (inout ResilienceSnapshot.Counts, AdmissionState.Verdict) -> Void
    ) -> Answer {
        let now = now
        let (answer, consequences) = state.withLock { state -> (Answer, Consequences) in
            let (answer, others) = state.admission.ask(
                keys, urgency: priority.urgency, deadline: limit.map { now + $0 }, at: now)
            let consequences = self.consequences(of: others, in: &state, at: now)
            switch answer {
            case .decided(let verdict):
                count(&state.counts, verdict)
                return (.decided(verdict), consequences)
            case .waits(let ticket):
                let verdict = OneShot<AdmissionState.Verdict>()
                state.waiters[ticket.number] = verdict
                state.counts.waited += 1
                scheduleTick(&state, at: now)
                return (.waits(QueuedRequest(ticket: ticket, keys: keys, verdict: verdict)), consequences)
            }
        }
        carryOut(consequences)
        return answer
    }

    /// Removes a request that was cancelled or timed out while it waited. If there already is a verdict, returns it:
    /// the caller then has to use or release its permit.
    func leave(_ queued: QueuedRequest) async -> AdmissionState.Verdict? {
        let didLeave = change { state, _ in
            guard state.admission.leave(queued.ticket, queued.keys) else { return false }
            state.waiters[queued.ticket.number] = nil
            return true
        }
        // Another thread has decided, and is about to resolve the verdict.
        return didLeave ? nil : await queued.verdict.waitThroughCancellation()
    }

    /// Admits the second copy of a request, if every limit permits it at once and nobody else wants the place.
    func admitHedge(_ keys: AdmissionKeys) -> AdmissionState.Permit? {
        let answer = ask(keys, .background, waitingFor: .zero) { counts, verdict in
            if case .admitted = verdict { counts.hedged += 1 }
        }
        // Without time to wait, the answer is a verdict.
        guard case .decided(.admitted(let permit)) = answer else { return nil }
        return permit
    }

    func countHedgeWon() { state.withLock { $0.counts.hedgesWon += 1 } }

    /// Reports a second copy that was due and is not sent.
    func hedgeWasRefused(_ origin: String, because refusal: Hedging.Refusal) {
        state.withLock { $0.observer?(.hedgeRefused(origin, because: refusal)) }
    }

    /// Releases a permit without an outcome: its attempt was not sent, or says nothing about the server.
    package func release(_ permit: AdmissionState.Permit) { finish(permit, outcome: nil, advice: nil) }

    /// Releases a permit, with the outcome of its attempt if there is one. `seenByCircuit` is an outcome that only the
    /// circuit records.
    package func finish(
        _ permit: AdmissionState.Permit, outcome: AttemptOutcome?, advice: ServerAdvice?,
        seenByCircuit: AttemptOutcome? = nil
    ) {
        // Called without the lock, because it is user code.
        let call = (outcome ?? seenByCircuit).flatMap { self.call?($0) }
        change { state, now in
            let changed = state.admission.finish(permit, outcome, call, advice, at: now)
            if let (circuit, change) = changed { state.observer?(SessionDecision(circuit, change)) }
        }
    }

    /// Changes the state, and decides about the requests that wait.
    @discardableResult
    private func change<Value>(_ body: (inout State, Duration) -> Value) -> Value {
        let now = now
        let (value, consequences) = state.withLock { state -> (Value, Consequences) in
            let value = body(&state, now)
            guard state.admission.waiting > 0 else { return (value, self.consequences(of: [], in: &state, at: now)) }
            let consequences = self.consequences(of: state.admission.decide(at: now), in: &state, at: now)
            scheduleTick(&state, at: now)
            return (value, consequences)
        }
        carryOut(consequences)
        return value
    }

    /// Counts the verdicts, and removes the waiting tasks that get them. Called before `scheduleTick`, because an order
    /// for a lease changes the next turn.
    private func consequences(
        of decided: [(AdmissionState.Ticket, AdmissionState.Verdict)], in state: inout State, at now: Duration
    ) -> Consequences {
        let verdicts = decided.compactMap { ticket, verdict in
            state.counts.add(verdict)
            return state.waiters.removeValue(forKey: ticket.number).map { (waiter: $0, verdict: verdict) }
        }
        return Consequences(verdicts: verdicts, orders: state.admission.fleetOrders(at: now))
    }

    private func carryOut(_ consequences: Consequences) {
        for (waiter, verdict) in consequences.verdicts { waiter.resolve(verdict) }
        for order in consequences.orders { send(order) }
    }

    /// Asks the fleet for a lease or about circuits, and decides with the answer. No request waits for the task, whose
    /// time is bounded. It is detached, because neither the priority nor the task-local values of the request that
    /// causes it apply.
    private func send(_ order: AdmissionState.FleetOrder) {
        Task.detached(priority: .high) { [weak self] in
            switch order {
            case .lease(let addressed):
                let lease = await addressed.fleet.lease(addressed.order)
                self?.change { state, now in state.admission.leased(lease, for: addressed, at: now) }
            case .circuits(let question, let fleet):
                let answer = await fleet.ask(question)
                self?.change { state, now in state.admission.answered(answer, to: question, at: now) }
            }
        }
    }

    /// Schedules a tick for the next decision that depends only on time, unless a tick is already scheduled no later. A
    /// tick that fires too early, because an earlier turn was withdrawn, decides nothing.
    private func scheduleTick(_ state: inout State, at now: Duration) {
        guard let turn = state.admission.nextTurn(at: now), state.ticks.last.map({ turn < $0 }) ?? true else { return }
        state.ticks.append(turn)
        // A turn may be centuries away, so the tick is at most an hour away. One that fires too early decides nothing.
        let wait = CancellableSleep.nanoseconds(min(turn - now, .seconds(3_600)))
        Self.timer.asyncAfter(deadline: .now() + .nanoseconds(wait + 1)) {
            [weak self] in
            // Removed first, so that the next turn gets a tick.
            self?.change { state, _ in state.ticks.removeAll { $0 == turn } }
        }
    }

    // MARK: Retries

    /// Adds the share of a request that starts to the retry budget of its origin.
    func deposit(for origin: String) { withBudget(of: origin) { $0.requestStarted(at: $1) } }

    /// Returns why no retry may follow after `delay`, or `nil` if one may: the circuit must not be open then, and the
    /// budget of `origin` must cover the retry, which is deducted from it. No budget applies if `origin` is `nil`.
    func refusalOfRetry(of keys: AdmissionKeys?, to origin: String?, after delay: Duration) -> ResilienceDecision? {
        let now = now
        if let keys, state.withLock({ $0.admission.circuitIsOpen(keys, after: delay, at: now) }) {
            return .retryRefusedByCircuit
        }
        let isCovered = origin.flatMap { withBudget(of: $0) { $0.retryWanted(at: $1) } } ?? true
        return isCovered ? nil : .retryRefusedByBudget
    }

    private func withBudget<Value>(
        of origin: String, _ body: (inout RetryTokenBucket, ContinuousClock.Instant) -> Value
    ) -> Value? {
        guard let budget = settings.retryBudget else { return nil }
        let now = ContinuousClock.now
        return state.withLock { state in
            let full = RetryTokenBucket(
                ratio: budget.ratio, minimumPerSecond: budget.minimumPerSecond, capacity: budget.capacity, now: now)
            // Origins that are used once must not accumulate. A forgotten budget starts full, so the full ones go, or all
            // if most are not full.
            if state.budgets.count >= Self.manyBudgets, state.budgets[origin] == nil {
                state.budgets = state.budgets.filter { !$0.value.isFull(at: now) }
                if state.budgets.count > Self.manyBudgets / 2 { state.budgets = [:] }
            }
            return body(&state.budgets[origin, default: full], now)
        }
    }

    // MARK: Looking

    func snapshot() -> ResilienceSnapshot {
        let now = now
        let (counts, admission) = state.withLock { ($0.counts, $0.admission) }
        return ResilienceSnapshot(counts, admission, at: now)
    }
}

/// The endpoints of a session. `EndpointState` decides; this class adds the lock, the clock and the URLs.
final class EndpointControl: Sendable {
    /// The URLs of the endpoints, in the order of the group.
    let bases: [BaseURL]
    private let isFailure: @Sendable (AttemptOutcome) -> Bool
    private let state: Lock<EndpointState>
    private let start = ContinuousClock.now
    /// Called under the lock with each ejection and return, so that they arrive in their order.
    private let observer: (@Sendable (SessionDecision) -> Void)?

    /// Throws `.invalidURL` if there is no endpoint, if a URL cannot be a base, or if only some use TLS: a request
    /// could then be sent without it by chance.
    init(
        _ group: EndpointGroup, reportingTo observer: (@Sendable (SessionDecision) -> Void)? = nil
    ) throws(CurlewError) {
        guard let state = EndpointState(group) else {
            throw CurlewError(.invalidURL, phase: .creation, reason: "the endpoint group is empty")
        }
        var bases: [BaseURL] = []
        for endpoint in group.endpoints {
            guard let url = URL(string: endpoint.url) else { throw .invalidURL(endpoint.url) }
            bases.append(try BaseURL(url))
        }
        let secure = bases.count { $0.url.scheme?.lowercased() == "https" || $0.url.scheme?.lowercased() == "wss" }
        guard secure == 0 || secure == bases.count else {
            throw CurlewError(
                .invalidURL, phase: .creation, reason: "either all endpoints of a group use TLS, or none")
        }
        self.bases = bases
        self.observer = observer
        // Without an ejection it decides only which endpoints a retry avoids.
        isFailure = (group.ejection ?? EndpointGroup.Ejection()).isFailure
        self.state = Lock(state)
    }

    private var now: Duration { ContinuousClock.now - start }

    func choose(avoiding failed: Set<Int>) -> EndpointState.Choice {
        let now = now
        return state.withLock { state in
            var random = SystemRandomNumberGenerator()
            let choice = state.choose(avoiding: failed, at: now, using: &random)
            if choice.isReturn { report(.returned, of: choice) }
            return choice
        }
    }

    /// Ends a choice. `outcome` is that of its attempt, or `nil` if there is none. Returns whether the endpoint has
    /// failed.
    func finish(_ choice: EndpointState.Choice, _ outcome: AttemptOutcome?) -> Bool {
        // Called without the lock, because it is user code.
        let isFailure = outcome.map(isFailure)
        let now = now
        state.withLock { state in
            let change = state.finish(choice, isFailure: isFailure, at: now)
            if let change { report(change, of: choice) }
        }
        return isFailure == true
    }

    private func report(_ change: EndpointState.Change, of choice: EndpointState.Choice) {
        guard let observer else { return }
        let url = Redaction.redacted(bases[choice.index].url)
        switch change {
        case .ejected(let time): observer(.endpointEjected(url, for: time))
        case .returned: observer(.endpointReturned(url))
        }
    }

    func snapshot() -> [ResilienceSnapshot.Endpoint] {
        let now = now
        return zip(bases, state.withLock { $0.members(at: now) }).map { base, member in
            ResilienceSnapshot.Endpoint(
                url: Redaction.redacted(base.url), outstanding: member.outstanding, ejectedFor: member.ejectedFor)
        }
    }
}

/// The endpoints of a run: the one of the current attempt, and those that have failed earlier ones. A class, so that
/// runs without endpoints have one empty pointer. It belongs to its run.
final class UsedEndpoints {
    private let control: EndpointControl
    /// The endpoint of the current attempt, until it has ended.
    private var current: (choice: EndpointState.Choice, chosen: ContinuousClock.Instant)?
    private var failed: Set<Int> = []

    init(_ control: EndpointControl) { self.control = control }

    /// Whether another attempt would be sent to an endpoint that has not failed.
    var hasOthers: Bool { failed.count < control.bases.count }

    /// The base of the attempt's relative URLs. The first use chooses it.
    func base() -> BaseURL {
        if let current { return control.bases[current.choice.index] }
        let choice = control.choose(avoiding: failed)
        current = (choice, .now)
        return control.bases[choice.index]
    }

    /// Ends the use of the attempt's endpoint, if there is one. `outcome` gets the time since it was chosen.
    func finish(_ error: CurlewError? = nil, _ outcome: (Duration) -> AttemptOutcome?) {
        guard let (choice, chosen) = exchange(&current, with: nil) else { return }
        let hasFailed = control.finish(choice, outcome(.now - chosen))
        // The session's own limits permit no request to this endpoint, so a retry should avoid it too.
        if hasFailed || error?.code == .circuitOpen || error?.code == .limited { failed.insert(choice.index) }
    }
}
