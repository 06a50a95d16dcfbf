package import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation

/// The limits, circuits and budgets of a session, and the requests that wait for them.
///
/// All decisions are those of `AdmissionState`. This class adds what that value must not have: a lock, the clock, a
/// timer for the next turn, the waiting tasks, and tasks that ask a fleet for leases.
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
        let now = now
        let (answer, news, orders) = state.withLock { state -> (Answer, News, [AdmissionState.LeaseOrder]) in
            let (answer, others) = state.admission.ask(
                keys, urgency: priority.urgency, deadline: limit.map { now + $0 }, at: now)
            let news = self.news(of: others, in: &state)
            switch answer {
            case .decided(let verdict):
                state.counts.add(verdict)
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

    /// Takes back a request that no longer waits, because it was cancelled or its time is over. If there is a verdict by
    /// now, returns it: a permit has to be given back then, or used.
    func leave(_ place: Place) async -> AdmissionState.Verdict? {
        let didLeave = change { state, _ in
            guard state.admission.leave(place.ticket, place.keys) else { return false }
            state.waiters[place.ticket.number] = nil
            return true
        }
        // Another thread has decided, and is about to resolve.
        return didLeave ? nil : await place.verdict.waitThroughCancellation()
    }

    /// Admits the second copy of a request, if every limit permits it at once and nobody else wants the place.
    func admitHedge(_ keys: AdmissionKeys) -> AdmissionState.Permit? {
        let now = now
        let (permit, news) = state.withLock { state -> (AdmissionState.Permit?, News) in
            let (answer, others) = state.admission.ask(
                keys, urgency: RequestPriority.background.urgency, deadline: now, at: now)
            let news = self.news(of: others, in: &state)
            switch answer {
            case .decided(.admitted(let permit)):
                state.counts.hedged += 1
                return (permit, news)
            case .decided(.refused): return (nil, news)
            case .waits(let ticket):
                // Does not happen, because the deadline has come.
                _ = state.admission.leave(ticket, keys)
                return (nil, news)
            }
        }
        for (waiter, verdict) in news { waiter.resolve(verdict) }
        return permit
    }

    func countHedgeWon() { state.withLock { $0.counts.hedgesWon += 1 } }

    /// Gives a permit back, without or with the outcome of its attempt. `seenByCircuit` is an outcome that concerns
    /// nothing else.
    package func finish(
        _ permit: AdmissionState.Permit, _ outcome: AttemptOutcome?, _ advice: ServerAdvice?,
        seenByCircuit: AttemptOutcome? = nil
    ) {
        // User code, so without the lock.
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

    /// Asks the fleet for a lease, and decides with the answer. No request waits for the task, whose time is bounded. It is
    /// detached, because the request that causes it has nothing to do with it: neither its priority nor its task-local
    /// values apply.
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

    /// Schedules the next decision that only time brings about, unless a tick is scheduled that comes no later. A tick
    /// that comes too early, because an earlier turn was taken back, decides nothing.
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

    /// Whether an attempt may follow after `delay`: not into an open circuit, and only if the budget covers it, which
    /// pays for it.
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
            // Origins that are asked once do not accumulate. A budget that is forgotten is full again.
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
