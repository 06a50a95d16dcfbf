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
        let numbers: AdmissionRecords.Numbers
        /// The number of the request in its circuit.
        let circuitNumber: Int
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
            /// Too many requests wait, and none of them is less important.
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

    /// The requests with equal keys that wait, the next one first.
    private struct Lane {
        let numbers: AdmissionRecords.Numbers
        var tickets: [Ticket] = []
    }

    private let policy: AdmissionPolicy
    private let leasesRates: Bool
    private let sharesCircuits: Bool
    private var records: AdmissionRecords
    /// The leased rates that requests have used since the last call of `leaseOrders`.
    private var used: Set<RateKey> = []
    private var shared = SharedCircuits()
    /// A lane without requests is removed.
    private var lanes: [AdmissionKeys: Lane] = [:]
    package private(set) var waiting = 0
    private var arrivals = 0
    private var time: Duration = .zero
    /// When there are this many records, unused ones are removed.
    private var sweepsAt: Int
    /// The least value of `sweepsAt`.
    private let fewNames: Int

    /// A rate: a part of the limit, and the record of the requests that share it.
    package struct RateKey: Hashable, Sendable {
        let part: Int
        let number: Int
    }

    package init(_ policy: AdmissionPolicy, fewNames: Int = 4_096) {
        self.policy = policy
        (self.fewNames, sweepsAt) = (fewNames, fewNames)
        leasesRates = policy.leasesRates
        sharesCircuits = policy.breaker?.fleet != nil
        records = AdmissionRecords(policy.rateLimit)
    }

    // MARK: Asking

    /// Decides about a new request, which may wait until `deadline`. Also returns verdicts on requests that wait: one
    /// may be shed, and those that the limits permit now are admitted before this one.
    package mutating func ask(
        _ keys: AdmissionKeys, urgency: Int, deadline: Duration?, at now: Duration
    ) -> (Answer, [(Ticket, Verdict)]) {
        let now = advance(to: now)
        sweep(at: now)
        let numbers = records.numbers(of: keys)
        if let refusal = refusalByCircuit(numbers, at: now) { return (.decided(.refused(refusal)), []) }
        if waiting == 0, records.opens(numbers, at: now) == now {
            records.use(numbers)
            return (.decided(.admitted(admit(numbers, at: now))), [])
        }
        arrivals += 1
        let ticket = Ticket(urgency: urgency, number: arrivals)
        insert(ticket, keys, numbers)
        var others = decide(at: now)
        if let own = others.firstIndex(where: { $0.0 == ticket }) {
            return (.decided(others.remove(at: own).1), others)
        }
        let ahead = lanes[keys].map { Self.index(of: ticket, in: $0.tickets) } ?? 0
        if let refusal = refusalToWait(numbers, behind: ahead, until: deadline, at: now) {
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
        guard let numbers = remove(ticket, keys) else { return false }
        records.release(numbers)
        return true
    }

    /// Records the end of an admitted request. `outcome`, `call` and `advice` are `nil` if it says nothing about the
    /// server. Returns the name of the circuit that has opened or closed because of it.
    @discardableResult
    package mutating func finish(
        _ permit: Permit, _ outcome: AttemptOutcome?, _ call: CircuitState.Call?, _ advice: ServerAdvice?,
        at now: Duration
    ) -> (circuit: String, change: CircuitState.Change)? {
        let now = advance(to: now)
        let numbers = permit.numbers
        defer { records.release(numbers) }
        if let number = numbers.places { records.list[number].places?.giveBack(outcome) }
        if let number = numbers.quota, let advice { records.list[number].quota.learn(advice, at: now) }
        guard let number = numbers.circuit,
            let change = records.list[number].circuit?.end(call, of: permit.circuitNumber, at: now)
        else { return nil }
        publish(change, of: number, at: now)
        return (records.list[number].name, change)
    }

    // MARK: Deciding

    /// Decides about the requests that wait. Call it after `leave` and `finish`, and at `nextTurn`.
    package mutating func decide(at now: Duration) -> [(Ticket, Verdict)] {
        let now = advance(to: now)
        var decided: [(Ticket, Verdict)] = []
        // Each pass finds the lanes whose first request is permitted, and admits the best request of all lanes as long
        // as there is one. Another pass follows, because an admitted probe closes its circuit to other lanes.
        while true {
            // The best one last.
            var permitted: [(ticket: Ticket, keys: AdmissionKeys)] = []
            for (keys, lane) in lanes {
                if let refusal = refusalByCircuit(lane.numbers, at: now) {
                    for ticket in lane.tickets {
                        decided.append((ticket, .refused(refusal)))
                        records.release(lane.numbers)
                    }
                    waiting -= lane.tickets.count
                    lanes[keys] = nil
                } else if let first = lane.tickets.first, records.opens(lane.numbers, at: now) == now {
                    permitted.append((first, keys))
                }
            }
            if permitted.isEmpty { return decided }
            permitted.sort { $1.ticket < $0.ticket }
            while let (ticket, keys) = permitted.popLast() {
                // An admission takes from limits that lanes share.
                guard let lane = lanes[keys], refusalByCircuit(lane.numbers, at: now) == nil,
                    records.opens(lane.numbers, at: now) == now, let numbers = remove(ticket, keys)
                else { continue }
                decided.append((ticket, .admitted(admit(numbers, at: now))))
                guard let next = lanes[keys]?.tickets.first else { continue }
                let place = permitted.lastIndex { next < $0.ticket } ?? -1
                permitted.insert((next, keys), at: place + 1)
            }
        }
    }

    /// The time at which a waiting request may be admitted even if no other request ends, or a lease for it may be
    /// ordered. `nil` if there is none.
    package func nextTurn(at now: Duration) -> Duration? {
        let now = max(now, time)
        return lanes.values.compactMap { lane -> Duration? in
            guard let opens = records.opens(lane.numbers, at: now) else { return nil }
            return leasesRates ? min(opens, orderTurn(lane.numbers, at: now) ?? opens) : opens
        }.min()
    }

    /// Whether a retry after `delay` would be refused by the circuit.
    package func circuitIsOpen(_ keys: AdmissionKeys, after delay: Duration, at now: Duration) -> Bool {
        guard let name = keys.circuit, let number = records.number(of: name),
            case .open(let until)? = records.list[number].circuit?.phase
        else { return false }
        return until > max(now, time) + delay
    }

    // MARK: Fleets

    /// Work that a fleet has to do.
    package enum FleetOrder: Sendable {
        case lease(AddressedOrder)
        case circuits([CircuitQuestion], fleet: any CircuitSharing)
    }

    /// Returns the orders that are due. Call it after each decision and each end of a request; pass each answer to
    /// `leased` or `answered`.
    package mutating func fleetOrders(at now: Duration) -> [FleetOrder] {
        guard leasesRates || sharesCircuits else { return [] }
        var orders = leaseOrders(at: now).map(FleetOrder.lease)
        guard let fleet = policy.breaker?.fleet else { return orders }
        let question = shared.question(refresh: fleet.circuitRefresh, at: advance(to: now))
        if !question.isEmpty { orders.append(.circuits(question, fleet: fleet)) }
        return orders
    }

    /// Records the answer to a question; `nil` if there was none.
    package mutating func answered(_ answer: [Duration]?, to question: [CircuitQuestion], at now: Duration) {
        guard let fleet = policy.breaker?.fleet else { return }
        let now = advance(to: now)
        let open = shared.answered(answer, to: question, refresh: fleet.circuitRefresh, at: now)
        for (name, remaining) in open {
            if let number = records.number(of: name) { records.list[number].circuit?.suspect(for: remaining, at: now) }
        }
    }

    /// An order for a lease, with the rate that makes it and the fleet to ask.
    package struct AddressedOrder: Sendable {
        package let key: RateKey
        package let order: RateLeaseOrder
        package let fleet: any RateLeasing
    }

    /// Returns the orders for leases that are due.
    package mutating func leaseOrders(at now: Duration) -> [AddressedOrder] {
        guard leasesRates, let parts = policy.rateLimit?.parts else { return [] }
        let now = advance(to: now)
        var demand: [RateKey: Int] = [:]
        for key in exchange(&used, with: []) { demand[key] = 0 }
        for lane in lanes.values {
            for (part, number) in lane.numbers.rates.enumerated() where parts[part].fleet != nil {
                demand[RateKey(part: part, number: number), default: 0] += lane.tickets.count
            }
        }
        return demand.compactMap { key, waiting in
            guard let fleet = parts[key.part].fleet, case .leased(var rate) = records.list[key.number].rates[key.part],
                let order = rate.order(records.list[key.number].name, waiting: waiting, at: now)
            else { return nil }
            records.list[key.number].rates[key.part] = .leased(rate)
            return AddressedOrder(key: key, order: order, fleet: fleet)
        }
    }

    /// Records the answer to an order; `nil` if there was none. Call `decide` afterwards.
    package mutating func leased(_ lease: RateLease?, for addressed: AddressedOrder, at now: Duration) {
        // The number is still that of the rate, because a rate with an order under way is not idle.
        let (part, number) = (addressed.key.part, addressed.key.number)
        guard case .leased(var rate) = records.list[number].rates[part] else { return }
        rate.answered(lease, at: advance(to: now))
        records.list[number].rates[part] = .leased(rate)
    }

    /// Returns the time at which a lease for a lane may be ordered. `nil` if none is needed, or one is ordered already.
    private func orderTurn(_ numbers: AdmissionRecords.Numbers, at now: Duration) -> Duration? {
        numbers.rates.enumerated().compactMap { part, number -> Duration? in
            guard case .leased(let rate) = records.list[number].rates[part] else { return nil }
            return rate.asksAt(now)
        }.min()
    }

    /// Tells the fleet of an opening.
    private mutating func publish(_ change: CircuitState.Change, of number: Int, at now: Duration) {
        if sharesCircuits, case .opened(let time, let cause) = change,
            records.list[number].circuit?.mayBePublished(cause) == true
        {
            shared.opened(records.list[number].name, until: now + time)
        }
    }

    private mutating func advance(to now: Duration) -> Duration {
        time = max(time, now)
        return time
    }

    // MARK: Records

    private mutating func refusalByCircuit(_ numbers: AdmissionRecords.Numbers, at now: Duration) -> Refusal? {
        guard let number = numbers.circuit, case .refuse(let after)? = records.list[number].circuit?.check(at: now)
        else { return nil }
        return after > .zero ? Refusal(cause: .open, retryAfter: after) : Refusal(cause: .probing, retryAfter: nil)
    }

    /// Takes what a request needs, whose records are in use already.
    private mutating func admit(_ numbers: AdmissionRecords.Numbers, at now: Duration) -> Permit {
        for (part, number) in numbers.rates.enumerated() {
            records.list[number].rates[part].admit(at: now)
            if case .leased = records.list[number].rates[part] { used.insert(RateKey(part: part, number: number)) }
        }
        if let number = numbers.quota { records.list[number].quota.admit(at: now) }
        if let number = numbers.places {
            if records.list[number].places == nil { records.list[number].places = policy.newPlaces }
            records.list[number].places?.take()
        }
        var circuitNumber = 0
        if let number = numbers.circuit {
            if records.list[number].circuit == nil { records.list[number].circuit = policy.newCircuit }
            circuitNumber = records.list[number].circuit?.begin(at: now) ?? 0
            if sharesCircuits { shared.use(records.list[number].name) }
        }
        return Permit(numbers: numbers, circuitNumber: circuitNumber, admitted: now)
    }

    /// Returns the refusal of a request that may not wait, or whose turn is after `deadline` even if every answer of a
    /// fleet is favorable; `nil` if it may wait.
    private func refusalToWait(
        _ numbers: AdmissionRecords.Numbers, behind ahead: Int, until deadline: Duration?, at now: Duration
    ) -> Refusal? {
        let soonest = records.rateTurn(numbers, at: now) { $0.soonest(after: ahead, at: now) }
        let mayWait = policy.waits && (deadline.map { now < $0 && soonest <= $0 } ?? true)
        if mayWait { return nil }
        let turn = records.rateTurn(numbers, at: now) { $0.opens(after: ahead, at: now) }
        return turn > now ? Refusal(cause: .rate, retryAfter: turn - now) : Refusal(cause: .places, retryAfter: nil)
    }

    /// Removes the least important waiting request; of several, the last one of the longest lane, so that a server that
    /// holds up thousands of requests costs the others none of theirs.
    private mutating func shed(at now: Duration) -> (Ticket, Verdict)? {
        func rank(_ lane: Lane) -> (Int, Int, Int) {
            let last = lane.tickets.last ?? .last
            return (last.urgency, lane.tickets.count, last.number)
        }
        let lane = lanes.max { rank($0.value) < rank($1.value) }
        guard let (keys, lane) = lane, let last = lane.tickets.last, leave(last, keys)
        else { return nil }
        return (last, .refused(Refusal(cause: .shed, retryAfter: nil)))
    }

    // MARK: Lanes

    /// Adds a ticket to its lane, and uses its records.
    private mutating func insert(_ ticket: Ticket, _ keys: AdmissionKeys, _ numbers: AdmissionRecords.Numbers) {
        var lane = lanes.removeValue(forKey: keys) ?? Lane(numbers: numbers)
        lane.tickets.insert(ticket, at: Self.index(of: ticket, in: lane.tickets))
        lanes[keys] = lane
        waiting += 1
        records.use(numbers)
    }

    /// Removes a ticket from its lane. Returns the numbers of its records, which are still in use; `nil` if the ticket
    /// is not there.
    private mutating func remove(_ ticket: Ticket, _ keys: AdmissionKeys) -> AdmissionRecords.Numbers? {
        guard var lane = lanes.removeValue(forKey: keys) else { return nil }
        let index = Self.index(of: ticket, in: lane.tickets)
        let isThere = index < lane.tickets.count && lane.tickets[index] == ticket
        if isThere {
            lane.tickets.remove(at: index)
            waiting -= 1
        }
        if !lane.tickets.isEmpty { lanes[keys] = lane }
        return isThere ? lane.numbers : nil
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

    /// Once there are many names, removes the idle ones: names may be hosts that are asked only once.
    private mutating func sweep(at now: Duration) {
        guard records.count >= sweepsAt else { return }
        let removed = records.removeIdle(at: now)
        used = used.filter { !removed.contains($0.number) }
        shared.forget { name in records.number(of: name) != nil }
        sweepsAt = max(fewNames, 2 * records.count)
    }

    // MARK: Looking

    /// The places in use and allowed, by name.
    package var concurrency: [String: (inFlight: Int, limit: Int)] {
        var found: [String: (inFlight: Int, limit: Int)] = [:]
        records.forEach { record in
            if let places = record.places { found[record.name] = (places.inFlight, places.limit) }
        }
        return found
    }

    /// The circuits, by name.
    package func phases(at now: Duration) -> [String: (phase: CircuitState.Phase, counts: OutcomeWindow.Counts)] {
        let now = max(now, time)
        var found: [String: (phase: CircuitState.Phase, counts: OutcomeWindow.Counts)] = [:]
        records.forEach { record in
            if let circuit = record.circuit { found[record.name] = (circuit.phase, circuit.counts(at: now)) }
        }
        return found
    }

    /// The time until the rates and the server permit the next request, by name. Omits names that permit one at once.
    package func pauses(at now: Duration) -> [String: Duration] {
        let now = max(now, time)
        var found: [String: Duration] = [:]
        records.forEach { record in
            let opens = record.rates.reduce(record.quota.opens(at: now)) { max($0, $1.opens(at: now)) }
            if opens > now { found[record.name] = opens - now }
        }
        return found
    }
}

extension AdmissionState.Ticket {
    /// Greater than every other ticket.
    fileprivate static let last = AdmissionState.Ticket(urgency: .max, number: .max)
}
