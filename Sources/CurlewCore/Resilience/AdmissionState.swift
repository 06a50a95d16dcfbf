/// The parts of a session's resilience that decide whether a request may be sent.
package struct AdmissionPolicy: Sendable {
    package var rateLimit: RateLimit?
    package var concurrency: ConcurrencyLimit?
    package var breaker: CircuitBreaker?
    package var waits: Bool
    package var maximumWaiting: Int
    /// Whether rates are leased from a fleet.
    package var isShared: Bool { rateLimit?.parts.contains { $0.fleet != nil } ?? false }

    package init(
        rateLimit: RateLimit? = nil, concurrency: ConcurrencyLimit? = nil, breaker: CircuitBreaker? = nil,
        waits: Bool = true, maximumWaiting: Int = 10_000
    ) {
        self.rateLimit = rateLimit
        self.concurrency = concurrency
        self.breaker = breaker
        self.waits = waits
        self.maximumWaiting = max(maximumWaiting, 0)
    }

    /// Returns the names by which a request shares limits with others. Calls user code.
    package func keys(of request: TransferRequest, origin: String, takesPlace: Bool) -> AdmissionKeys {
        AdmissionKeys(
            rates: rateLimit?.parts.map { $0.scope.name(of: request, origin: origin) } ?? [],
            quota: rateLimit?.quotaName(of: request, origin: origin),
            places: takesPlace ? concurrency?.scope.name(of: request, origin: origin) : nil,
            circuit: breaker?.scope.name(of: request, origin: origin)
        )
    }
}

/// The names by which a request shares limits and circuits with others.
package struct AdmissionKeys: Sendable, Hashable {
    /// The name for each part of the rate limit.
    package var rates: [String] = []
    package var quota: String?
    package var places: String?
    package var circuit: String?

    package init(rates: [String] = [], quota: String? = nil, places: String? = nil, circuit: String? = nil) {
        self.rates = rates
        self.quota = quota
        self.places = places
        self.circuit = circuit
    }
}

/// Decides which requests are sent now, which wait, and which are refused.
///
///     request ─┬─ the circuit is open ─────────────────────────────────────▶ refused: circuitOpen
///              ├─ every limit permits, nobody waits before it ─────────────▶ admitted ── finish ─▶
///              ├─ waiting is not wanted, or is known to take too long ─────▶ refused: limited
///              └─ otherwise ─▶ waits ─┬─ its turn ─────────────────────────▶ admitted ── finish ─▶
///                                     ├─ the circuit opens ────────────────▶ refused: circuitOpen
///                                     ├─ more important ones fill the line ▶ refused: limited (shed)
///                                     └─ leave ────────────────────────────▶ (cancelled, timed out)
///
/// Requests with equal keys wait in one lane, ordered by priority, then by arrival. The next request is the best of
/// those that are first in their lanes and that all their limits permit. A request takes everything that it needs in
/// one step, or nothing, so lanes do not block each other.
///
/// A value type. Time is a parameter, a duration since any fixed start. A time before an earlier one counts as the
/// earlier one.
package struct AdmissionState: Sendable {
    /// A request that waits. The smallest ticket is the next.
    package struct Ticket: Sendable, Hashable, Comparable {
        package let urgency: Int
        /// The position in the order of arrival.
        package let number: Int

        package static func < (left: Ticket, right: Ticket) -> Bool {
            (left.urgency, left.number) < (right.urgency, right.number)
        }
    }

    /// The right to send one request. Give it back with `finish`, exactly once.
    package struct Permit: Sendable, Hashable {
        package let keys: AdmissionKeys
        /// The generation of the circuit.
        let generation: Int
        /// The time at which the request was admitted.
        package let admitted: Duration
    }

    package struct Refusal: Sendable, Hashable {
        package enum Cause: Sendable, Hashable {
            /// The circuit is open.
            case open
            /// The circuit is half-open, and its probe is in flight.
            case probing
            /// A rate or the server does not permit it in time.
            case rate
            /// Every place is taken.
            case places
            /// More important requests wait.
            case shed
        }

        package let cause: Cause
        /// The time after which another try makes sense; `nil` if it is not known.
        package let retryAfter: Duration?

        package init(cause: Cause, retryAfter: Duration?) {
            self.cause = cause
            self.retryAfter = retryAfter
        }
    }

    package enum Verdict: Sendable, Hashable {
        case admitted(Permit)
        case refused(Refusal)
    }

    package enum Answer: Sendable, Hashable {
        case decided(Verdict)
        case waits(Ticket)
    }

    private let policy: AdmissionPolicy
    private var rates: [RateKey: AdmissionRate] = [:]
    /// The leased rates that requests have used since the last call of `leaseOrders`.
    private var used: Set<RateKey> = []
    private var quotas: [String: ServerQuota] = [:]
    private var places: [String: ConcurrencyLimiter] = [:]
    private var circuits: [String: CircuitState] = [:]
    /// The requests that wait, the next one first. A lane without any is removed.
    private var lanes: [AdmissionKeys: [Ticket]] = [:]
    package private(set) var waiting = 0
    private var arrivals = 0
    private var time: Duration = .zero
    /// The number of keys at which unused ones are removed.
    private var sweepsAt = AdmissionState.fewKeys
    private static let fewKeys = 4_096

    /// A rate: a part of the limit, and the name of the requests that share it.
    package struct RateKey: Hashable, Sendable {
        let part: Int
        let name: String
    }

    package init(_ policy: AdmissionPolicy) { self.policy = policy }

    // MARK: Asking

    /// Decides about a new request, which may wait until `deadline`. Also returns verdicts on requests that wait: one
    /// may be shed, and those that the limits permit now are admitted before this one.
    package mutating func ask(
        _ keys: AdmissionKeys, urgency: Int, deadline: Duration?, at now: Duration
    ) -> (Answer, [(Ticket, Verdict)]) {
        let now = advance(to: now)
        if let refusal = refusalByCircuit(keys, at: now) { return (.decided(.refused(refusal)), []) }
        sweep(at: now)
        if waiting == 0, opens(keys, at: now) == now { return (.decided(.admitted(admit(keys, at: now))), []) }
        arrivals += 1
        let ticket = Ticket(urgency: urgency, number: arrivals)
        let ahead = insert(ticket, keys)
        var others = decide(at: now)
        if let own = others.firstIndex(where: { $0.0 == ticket }) {
            return (.decided(others.remove(at: own).1), others)
        }
        if let refusal = refusalToWait(keys, behind: ahead, until: deadline, at: now) {
            _ = leave(ticket, keys)
            return (.decided(.refused(refusal)), others)
        }
        if waiting > policy.maximumWaiting, let shed = shed(at: now) {
            if shed.0 == ticket { return (.decided(shed.1), others) }
            others.append(shed)
        }
        return (.waits(ticket), others)
    }

    /// Removes a request that waits. Returns `false` if there is a verdict on it already.
    package mutating func leave(_ ticket: Ticket, _ keys: AdmissionKeys) -> Bool {
        guard var lane = lanes.removeValue(forKey: keys) else { return false }
        let index = Self.index(of: ticket, in: lane)
        let isThere = index < lane.count && lane[index] == ticket
        if isThere {
            lane.remove(at: index)
            waiting -= 1
        }
        if !lane.isEmpty { lanes[keys] = lane }
        return isThere
    }

    /// Records the end of an admitted request. `outcome`, `call` and `advice` are `nil` if it says nothing about the
    /// server.
    package mutating func finish(
        _ permit: Permit, _ outcome: AttemptOutcome?, _ call: CircuitState.Call?, _ advice: ServerAdvice?,
        at now: Duration
    ) {
        let now = advance(to: now)
        let keys = permit.keys
        if let name = keys.places { places[name]?.giveBack(outcome) }
        if let name = keys.circuit, let breaker = policy.breaker {
            circuits[name]?.end(call, of: permit.generation, at: now, breaker)
        }
        if let name = keys.quota, let advice { quotas[name, default: ServerQuota()].learn(advice, at: now) }
    }

    // MARK: Deciding

    /// Decides about the requests that wait. Call it after `leave` and `finish`, and at `nextTurn`.
    package mutating func decide(at now: Duration) -> [(Ticket, Verdict)] {
        let now = advance(to: now)
        var decided: [(Ticket, Verdict)] = []
        // Each pass looks at the first of each lane and admits the best one. Another pass follows, because an admission
        // takes from limits that lanes share.
        while true {
            var best: (ticket: Ticket, keys: AdmissionKeys)?
            for (keys, lane) in lanes {
                if let refusal = refusalByCircuit(keys, at: now) {
                    for ticket in lane { decided.append((ticket, .refused(refusal))) }
                    waiting -= lane.count
                    lanes[keys] = nil
                } else if let first = lane.first, best.map({ first < $0.ticket }) ?? true, opens(keys, at: now) == now {
                    best = (first, keys)
                }
            }
            guard let (ticket, keys) = best else { return decided }
            _ = leave(ticket, keys)
            decided.append((ticket, .admitted(admit(keys, at: now))))
        }
    }

    /// The time at which a waiting request may be admitted even if no other request ends, or a lease for it may be
    /// ordered. `nil` if there is none.
    package func nextTurn(at now: Duration) -> Duration? {
        let now = max(now, time)
        return lanes.keys.compactMap { keys -> Duration? in
            guard let opens = opens(keys, at: now) else { return nil }
            return policy.isShared ? min(opens, orderTurn(keys, at: now) ?? opens) : opens
        }.min()
    }

    /// Whether a retry after `delay` would be refused by the circuit.
    package func circuitIsOpen(_ keys: AdmissionKeys, after delay: Duration, at now: Duration) -> Bool {
        guard let name = keys.circuit, case .open(let until)? = circuits[name]?.phase else { return false }
        return until > max(now, time) + delay
    }

    // MARK: Leases

    /// An order for a lease, and the fleet to ask.
    package struct LeaseOrder: Sendable {
        package let key: RateKey
        package let order: RateLeaseOrder
        package let fleet: any RateLeasing
    }

    /// Returns the orders that are due. Call it after each decision; pass each answer to `leased`.
    package mutating func leaseOrders(at now: Duration) -> [LeaseOrder] {
        guard let limit = policy.rateLimit, policy.isShared else { return [] }
        let now = advance(to: now)
        var demand: [RateKey: Int] = [:]
        for key in exchange(&used, with: []) { demand[key] = 0 }
        for (keys, lane) in lanes {
            for (part, name) in keys.rates.enumerated() where limit.parts[part].fleet != nil {
                demand[RateKey(part: part, name: name), default: 0] += lane.count
            }
        }
        return demand.compactMap { key, waiting in
            let part = limit.parts[key.part]
            guard let fleet = part.fleet,
                case .leased(var rate) = rates[key] ?? AdmissionRate(part),
                let order = rate.order(key.name, waiting: waiting, at: now)
            else { return nil }
            rates[key] = .leased(rate)
            return LeaseOrder(key: key, order: order, fleet: fleet)
        }
    }

    /// Records the answer to an order; `nil` if there was none. Call `decide` afterwards.
    package mutating func leased(_ lease: RateLease?, for order: LeaseOrder, at now: Duration) {
        guard case .leased(var rate)? = rates[order.key] else { return }
        rate.answered(lease, at: advance(to: now))
        rates[order.key] = .leased(rate)
    }

    /// Returns the time at which a lease for a lane may be ordered. `nil` if none is needed, or one is ordered already.
    private func orderTurn(_ keys: AdmissionKeys, at now: Duration) -> Duration? {
        keys.rates.enumerated().compactMap { part, name -> Duration? in
            guard case .leased(let rate)? = rates[RateKey(part: part, name: name)] else { return nil }
            return rate.asksAt(now)
        }.min()
    }

    private mutating func advance(to now: Duration) -> Duration {
        time = max(time, now)
        return time
    }

    private mutating func refusalByCircuit(_ keys: AdmissionKeys, at now: Duration) -> Refusal? {
        guard let name = keys.circuit, let breaker = policy.breaker, var circuit = circuits[name] else { return nil }
        defer { circuits[name] = circuit }
        guard case .refuse(let after) = circuit.check(at: now, breaker) else { return nil }
        return after > .zero ? Refusal(cause: .open, retryAfter: after) : Refusal(cause: .probing, retryAfter: nil)
    }

    /// Returns the time at which the limits permit one more request with these keys: `now` if at once, `nil` if another
    /// request has to end first.
    private func opens(_ keys: AdmissionKeys, at now: Duration) -> Duration? {
        if let name = keys.places, places[name]?.hasPlace == false { return nil }
        return rateTurn(keys, at: now) { $0.opens(at: now) }
    }

    /// Returns the latest of the times that `turn` gives for each rate and that the server permits.
    private func rateTurn(_ keys: AdmissionKeys, at now: Duration, _ turn: (AdmissionRate) -> Duration) -> Duration {
        var latest = now
        if let limit = policy.rateLimit {
            for (part, name) in keys.rates.enumerated() {
                let rate = rates[RateKey(part: part, name: name)] ?? AdmissionRate(limit.parts[part])
                latest = max(latest, turn(rate))
            }
        }
        if let name = keys.quota, let quota = quotas[name] { latest = max(latest, quota.opens(at: now)) }
        return latest
    }

    private mutating func admit(_ keys: AdmissionKeys, at now: Duration) -> Permit {
        if let limit = policy.rateLimit {
            for (part, name) in keys.rates.enumerated() {
                let key = RateKey(part: part, name: name)
                rates[key, default: AdmissionRate(limit.parts[part])].admit(at: now)
                if limit.parts[part].fleet != nil { used.insert(key) }
            }
        }
        if let name = keys.quota { quotas[name]?.admit(at: now) }
        if let name = keys.places, let limit = policy.concurrency {
            places[name, default: ConcurrencyLimiter(limit.kind)].take()
        }
        var generation = 0
        if let name = keys.circuit, let breaker = policy.breaker {
            generation = circuits[name, default: CircuitState(breaker)].begin(at: now)
        }
        return Permit(keys: keys, generation: generation, admitted: now)
    }

    /// Returns the refusal of a request that may not wait, or whose turn is certainly after `deadline`; `nil` if it may
    /// wait.
    private func refusalToWait(
        _ keys: AdmissionKeys, behind ahead: Int, until deadline: Duration?, at now: Duration
    ) -> Refusal? {
        let soonest = rateTurn(keys, at: now) { $0.soonest(after: ahead, at: now) }
        let mayWait = policy.waits && (deadline.map { now < $0 && soonest <= $0 } ?? true)
        if mayWait { return nil }
        let turn = rateTurn(keys, at: now) { $0.opens(after: ahead, at: now) }
        return turn > now ? Refusal(cause: .rate, retryAfter: turn - now) : Refusal(cause: .places, retryAfter: nil)
    }

    /// Removes the least important waiting request; of several, the one that arrived last.
    private mutating func shed(at now: Duration) -> (Ticket, Verdict)? {
        guard let (keys, lane) = lanes.max(by: { ($0.value.last ?? .last) < ($1.value.last ?? .last) }),
            let last = lane.last, leave(last, keys)
        else { return nil }
        return (last, .refused(Refusal(cause: .shed, retryAfter: nil)))
    }

    // MARK: Lanes

    /// Adds a ticket to its lane. Returns the number of tickets before it.
    private mutating func insert(_ ticket: Ticket, _ keys: AdmissionKeys) -> Int {
        var lane = lanes.removeValue(forKey: keys) ?? []
        let index = Self.index(of: ticket, in: lane)
        lane.insert(ticket, at: index)
        lanes[keys] = lane
        waiting += 1
        return index
    }

    /// Returns the index of the first ticket that is not before this one.
    private static func index(of ticket: Ticket, in lane: [Ticket]) -> Int {
        var (low, high) = (0, lane.count)
        while low < high {
            let middle = (low + high) / 2
            if lane[middle] < ticket { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Once there are many keys, removes limits and circuits that equal new ones or have not been used for long: keys
    /// may be hosts that are asked only once.
    private mutating func sweep(at now: Duration) {
        guard keyCount >= sweepsAt else { return }
        rates = rates.filter { !$0.value.isIdle(at: now) }
        quotas = quotas.filter { !$0.value.isIdle(at: now) }
        // This forgets the latency and the limit that an adaptive limit has learned.
        places = places.filter { !$0.value.isIdle }
        circuits = circuits.filter { !$0.value.isIdle(at: now) }
        sweepsAt = max(Self.fewKeys, 2 * keyCount)
    }

    private var keyCount: Int { rates.count + quotas.count + places.count + circuits.count }

    // MARK: Looking

    /// The places in use and allowed, by name.
    package var concurrency: [String: (inFlight: Int, limit: Int)] {
        places.mapValues { ($0.inFlight, $0.limit) }
    }

    /// The circuits, by name.
    package func phases(at now: Duration) -> [String: (phase: CircuitState.Phase, counts: OutcomeWindow.Counts)] {
        circuits.mapValues { ($0.phase, $0.counts(at: max(now, time))) }
    }

    /// The time until the rates and the server permit the next request, by name. Omits names that permit one at once.
    package func pauses(at now: Duration) -> [String: Duration] {
        let now = max(now, time)
        var found: [String: Duration] = [:]
        for (key, rate) in rates { found[key.name] = max(found[key.name] ?? .zero, rate.opens(at: now) - now) }
        for (name, quota) in quotas { found[name] = max(found[name] ?? .zero, quota.opens(at: now) - now) }
        return found.filter { $0.value > .zero }
    }
}

extension AdmissionState.Ticket {
    /// Greater than every other ticket.
    fileprivate static let last = AdmissionState.Ticket(urgency: .max, number: .max)
}
