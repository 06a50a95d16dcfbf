package import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// The limits, circuits and budgets of a session, and the requests that wait for them.
///
/// `AdmissionState` makes all decisions. This class adds a lock, the clock, a timer for the next turn, the waiting
/// tasks, and tasks that ask a fleet for leases.
package final class ResilienceControl: Sendable {
    /// A request that waits.
    package struct Place: Sendable {
        let ticket: AdmissionState.Ticket
        let keys: AdmissionKeys
        package let verdict: OneShot<AdmissionState.Verdict>
    }

    package enum Answer {
        case decided(AdmissionState.Verdict)
        case waits(Place)
    }

    private struct State {
        var admission: AdmissionState
        /// The waiting tasks, by the numbers of their tickets.
        var waiters: [Int: OneShot<AdmissionState.Verdict>] = [:]
        /// The times of the ticks that are scheduled, the earliest last.
        var ticks: [Duration] = []
        var budgets: [String: RetryTokenBucket] = [:]
        var counts = ResilienceSnapshot.Counts()
    }

    /// Verdicts, and the tasks that wait for them. Resolved without the lock.
    private typealias News = [(OneShot<AdmissionState.Verdict>, AdmissionState.Verdict)]

    let settings: Resilience
    let policy: AdmissionPolicy
    private let state: Lock<State>
    private let start = ContinuousClock.now
    private static let timer = DispatchQueue(label: "curlew.admission")
    private static let manyBudgets = 4_096

    /// `nil` if nothing is switched on.
    package init?(_ settings: Resilience) {
        if settings.isOff { return nil }
        self.settings = settings
        let policy = settings.policy
        self.policy = policy
        state = Lock(making: { State(admission: AdmissionState(policy)) })
    }

    private var now: Duration { ContinuousClock.now - start }

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
        let (answer, news, orders) = state.withLock { state -> (Answer, News, [AdmissionState.LeaseOrder]) in
            let (answer, others) = state.admission.ask(
                keys, urgency: priority.urgency, deadline: limit.map { now + $0 }, at: now)
            let news = self.news(of: others, in: &state)
            switch answer {
            case .decided(let verdict):
                count(&state.counts, verdict)
                return (.decided(verdict), news, state.admission.leaseOrders(at: now))
            case .waits(let ticket):
                let verdict = OneShot<AdmissionState.Verdict>()
                state.waiters[ticket.number] = verdict
                state.counts.waited += 1
                let orders = state.admission.leaseOrders(at: now)
                scheduleTick(&state, at: now)
                return (.waits(Place(ticket: ticket, keys: keys, verdict: verdict)), news, orders)
            }
        }
        for (waiter, verdict) in news { waiter.resolve(verdict) }
        for order in orders { send(order) }
        return answer
    }

    /// Removes a request that was cancelled or timed out while it waited. If there already is a verdict, returns it:
    /// the caller then has to use or release its permit.
    func leave(_ place: Place) async -> AdmissionState.Verdict? {
        let didLeave = change { state, _ in
            guard state.admission.leave(place.ticket, place.keys) else { return false }
            state.waiters[place.ticket.number] = nil
            return true
        }
        // Another thread has decided, and is about to resolve the verdict.
        return didLeave ? nil : await place.verdict.waitThroughCancellation()
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

    /// Releases a permit, with the outcome of its attempt if there is one. `seenByCircuit` is an outcome that only the
    /// circuit records.
    package func finish(
        _ permit: AdmissionState.Permit, _ outcome: AttemptOutcome?, _ advice: ServerAdvice?,
        seenByCircuit: AttemptOutcome? = nil
    ) {
        // Called without the lock, because it is user code.
        let call = (outcome ?? seenByCircuit).flatMap { policy.breaker?.call($0) }
        change { state, now in state.admission.finish(permit, outcome, call, advice, at: now) }
    }

    /// Changes the state, and decides about the requests that wait.
    @discardableResult
    private func change<Value>(_ body: (inout State, Duration) -> Value) -> Value {
        let now = now
        let (value, news, orders) = state.withLock { state -> (Value, News, [AdmissionState.LeaseOrder]) in
            let value = body(&state, now)
            guard state.admission.waiting > 0 else { return (value, [], []) }
            let news = self.news(of: state.admission.decide(at: now), in: &state)
            let orders = state.admission.leaseOrders(at: now)
            scheduleTick(&state, at: now)
            return (value, news, orders)
        }
        for (waiter, verdict) in news { waiter.resolve(verdict) }
        for order in orders { send(order) }
        return value
    }

    /// Asks the fleet for a lease, and decides with the answer. No request waits for the task, whose time is bounded.
    /// It is detached, because neither the priority nor the task-local values of the request that causes it apply.
    private func send(_ order: AdmissionState.LeaseOrder) {
        Task.detached(priority: .high) { [weak self] in
            let lease = await order.fleet.lease(order.order)
            self?.change { state, now in state.admission.leased(lease, for: order, at: now) }
        }
    }

    private func news(of decided: [(AdmissionState.Ticket, AdmissionState.Verdict)], in state: inout State) -> News {
        decided.compactMap { ticket, verdict in
            state.counts.add(verdict)
            return state.waiters.removeValue(forKey: ticket.number).map { ($0, verdict) }
        }
    }

    /// Schedules a tick for the next decision that depends only on time, unless a tick is already scheduled no later. A
    /// tick that fires too early, because an earlier turn was withdrawn, decides nothing.
    private func scheduleTick(_ state: inout State, at now: Duration) {
        guard let turn = state.admission.nextTurn(at: now), state.ticks.last.map({ turn < $0 }) ?? true else { return }
        state.ticks.append(turn)
        Self.timer.asyncAfter(deadline: .now() + .nanoseconds(Pause.nanoseconds(turn - now) + 1)) { [weak self] in
            self?.change { state, _ in state.ticks.removeAll { $0 == turn } }
        }
    }

    // MARK: Retries

    /// Adds the share of a request that starts to the retry budget of its origin.
    func deposit(for origin: String) { withBudget(of: origin) { $0.requestStarted(at: $1) } }

    /// Returns whether a retry may follow after `delay`: the circuit must not be open then, and the budget must cover
    /// the retry, which is deducted from it.
    func permitsRetry(of keys: AdmissionKeys?, to origin: String, after delay: Duration) -> Bool {
        let now = now
        if let keys, state.withLock({ $0.admission.circuitIsOpen(keys, after: delay, at: now) }) { return false }
        return withBudget(of: origin) { $0.retryWanted(at: $1) } ?? true
    }

    private func withBudget<Value>(
        of origin: String, _ body: (inout RetryTokenBucket, ContinuousClock.Instant) -> Value
    ) -> Value? {
        guard let budget = settings.retryBudget else { return nil }
        let now = ContinuousClock.now
        return state.withLock { state in
            let full = RetryTokenBucket(
                ratio: budget.ratio, minimumPerSecond: budget.minimumPerSecond, capacity: budget.capacity, now: now)
            // Bounded, so that origins that are used once do not accumulate. A forgotten budget starts full.
            if state.budgets.count >= Self.manyBudgets, state.budgets[origin] == nil { state.budgets = [:] }
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
