/// Shares rates among several processes.
package protocol RateLeasing: Sendable {
    /// The share of a rate that this process may use alone while nobody answers: above 0, at most 1.
    var localShare: Double { get }

    /// Asks for a lease. Returns `nil` if nobody answers. Takes a bounded time.
    func lease(_ order: RateLeaseOrder) async -> RateLease?
}

/// An order for requests of a rate.
package struct RateLeaseOrder: Sendable, Equatable {
    /// The name of the requests that share the rate.
    package let name: String
    package let rate: CellRate
    /// The number of requests to lease. Zero if the order only reports.
    package let wanted: Int
    /// The requests to charge: those that were sent without a lease, less those that were leased and not sent.
    package let charge: Int
    /// The requests that were sent without a lease since the last order.
    package let sentLocally: Int

    package init(name: String, rate: CellRate, wanted: Int, charge: Int = 0, sentLocally: Int = 0) {
        self.name = name
        self.rate = rate
        self.wanted = wanted
        self.charge = charge
        self.sentLocally = sentLocally
    }
}

/// The answer: requests that this process may send.
package struct RateLease: Sendable, Equatable {
    /// The number of requests, at most the wanted one.
    package let granted: Int
    /// The time until the rate permits the first of them. If none was granted, until it permits a request.
    package let wait: Duration
    /// The time after which another order makes sense, if none was granted.
    package let retry: Duration

    package init(granted: Int, wait: Duration = .zero, retry: Duration = .zero) {
        self.granted = max(granted, 0)
        // Bounded, so that no sum overflows.
        self.wait = min(max(wait, .zero), .seconds(31_536_000))
        self.retry = min(max(retry, .zero), self.wait)
    }
}

/// A rate that several processes share: this process sends what it has leased.
///
///     leased, more than a third is left ──▶ a request takes one
///     less is left ───────────────────────▶ a request takes one, and the next lease is ordered ahead
///     none is left ───────────────────────▶ requests wait for the lease that is ordered, or that begins later
///     no answer, or none lately ──────────▶ the local share: a rate of this process alone
///
/// Requests that the local share permits are reported and charged with the next order, except while nobody answers. The
/// unused rest of a lease is charged with the opposite sign. So a rare request never waits for an answer, and yet all
/// processes together keep the rate.
///
/// A value type. Times are durations since any fixed start. The caller carries out the orders, one at a time.
package struct LeasedRate: Sendable {
    private struct Lease: Sendable {
        let start: Duration
        let end: Duration
        var left: Int
        var used = 0

        /// Returns the time of a request that follows `ahead` others. Requests follow the rate from the start of the
        /// lease, so that a process never sends faster than the whole rate.
        func opens(after ahead: Int, _ rate: CellRate) -> Duration {
            start + max(.zero, rate.interval * (used + ahead) - rate.tolerance)
        }
    }

    /// The time for which a lease is valid after its start. Its unused rest is then given back.
    package static let validity = Duration.seconds(1)
    /// The time for which a lease should suffice at the present rate of requests.
    package static let span = Duration.milliseconds(100)
    /// The longest time for which requests wait for an answer before they use the local share.
    package static let patience = Duration.milliseconds(100)
    private static let shortestPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(8)
    /// The shortest time between an order that was not granted and the next one.
    private static let shortestRetry = Duration.milliseconds(10)

    private let rate: CellRate
    private var local: CellRate
    /// The lease in use, and the one after it.
    private var current: Lease?
    private var next: Lease?
    /// The number that the last answer has granted.
    private var granted = 0
    /// The time of the order that is under way, and the number that it wants.
    private var asked: (time: Duration, wanted: Int)?
    /// The time before which no order is made.
    private var nextOrderFrom: Duration = .zero
    /// The time until which the last answer holds, so that the local share is not used.
    private var answerHoldsUntil: Duration = .zero
    /// Whether the last answer has granted nothing.
    private var isRefused = false
    /// The last pause after an order without an answer. `nil` after an answer.
    private var pause: Duration?
    private var charge = 0
    private var sentLocally = 0
    /// The number of requests since the last order, and the time of that order. The initial time is so long ago that
    /// the first request counts as rare.
    private var sinceLastOrder: (count: Int, since: Duration) = (0, .zero - validity)

    /// `share` is the part of the rate for times without an answer.
    package init(_ rate: CellRate, share: Double) {
        self.rate = rate
        local = rate.reduced(to: share)
    }

    // MARK: Asking

    /// Returns the time at which a request may be sent, if `ahead` others are sent first and no answer arrives.
    package func opens(after ahead: Int = 0, at now: Duration) -> Duration {
        var ahead = ahead
        for lease in [current, next] {
            guard let lease, lease.end > now else { continue }
            if ahead < lease.left { return max(now, lease.opens(after: ahead, rate)) }
            ahead -= lease.left
        }
        let patienceEnds = asked.map { min(answerHoldsUntil, $0.time + Self.patience) } ?? answerHoldsUntil
        return local.opens(after: ahead, at: max(now, patienceEnds))
    }

    /// Returns the time before which a request that follows `ahead` others is not sent, whatever the next answer is.
    package func soonest(after ahead: Int, at now: Duration) -> Duration {
        let opens = opens(after: ahead, at: now)
        if pause != nil { return opens }
        // Leases run ahead of the rate by up to their span.
        let early: Duration = rate.tolerance + Self.span * 2
        var bound: Duration = now + rate.interval * ahead - early
        if isRefused, asked == nil { bound = max(bound, answerHoldsUntil) }
        return min(opens, max(now, bound))
    }

    /// Records a request that is sent. `opens(at:)` permitted it.
    package mutating func admit(at now: Duration) {
        expire(at: now)
        sinceLastOrder.count += 1
        if var lease = current, lease.opens(after: 0, rate) <= now {
            lease.left -= 1
            lease.used += 1
            current = lease
            expire(at: now)
        } else {
            local.admit(at: now)
            sentLocally += 1
            if pause == nil { charge += 1 }
        }
    }

    /// Removes leases that are used up or expired.
    private mutating func expire(at now: Duration) {
        while let lease = current, lease.left == 0 || lease.end <= now {
            charge -= lease.left
            (current, next) = (next, nil)
        }
    }

    // MARK: Orders

    /// The time at which the next order is due if requests wait. `nil` if one is under way, or there is enough.
    package func asksAt(_ now: Duration) -> Duration? {
        asked == nil && isLow(at: now) ? max(now, nextOrderFrom) : nil
    }

    private func isLow(at now: Duration) -> Bool {
        var left = 0
        for case let lease? in [current, next] where lease.end > now { left += lease.left }
        return left * 3 <= granted
    }

    /// Returns the next order, if it is due. The caller passes its answer to `answered`.
    package mutating func order(_ name: String, waiting: Int, at now: Duration) -> RateLeaseOrder? {
        guard asksAt(now) == now, sinceLastOrder.count > 0 || waiting > 0 else { return nil }
        expire(at: now)
        let elapsed = now - sinceLastOrder.since
        let most = max(1, Self.span / rate.interval)
        let perSpan: Double = Self.span / max(elapsed, Self.shortestRetry)
        var wanted = Double(sinceLastOrder.count) * perSpan
        // An order that follows the last one within the validity of a lease asks for at least one. Rarer requests are
        // only reported.
        if sinceLastOrder.count > 0, elapsed < Self.validity { wanted = max(wanted, 1) }
        wanted = min(max(wanted, Double(waiting)), most)
        let order = RateLeaseOrder(
            name: name, rate: rate, wanted: Int(wanted), charge: charge, sentLocally: sentLocally)
        asked = (now, order.wanted)
        sinceLastOrder = (0, now)
        (charge, sentLocally) = (0, 0)
        return order
    }

    /// Records the answer to an order; `nil` if there was none.
    package mutating func answered(_ lease: RateLease?, at now: Duration) {
        guard let asked else { return }
        self.asked = nil
        guard let lease else {
            let pause = min(max((pause ?? .zero) * 2, Self.shortestPause), Self.longestPause)
            self.pause = pause
            nextOrderFrom = now + pause
            (answerHoldsUntil, isRefused, charge) = (min(answerHoldsUntil, now), false, 0)
            return
        }
        pause = nil
        nextOrderFrom = now
        granted = lease.granted
        isRefused = granted == 0 && lease.wait > .zero
        guard granted > 0 else {
            answerHoldsUntil = now + lease.wait
            if asked.wanted > 0 { nextOrderFrom = now + max(lease.retry, Self.shortestRetry) }
            return
        }
        // Counted from the time of the order, which is before the time of the grant in the other process.
        let end = asked.time + lease.wait + Self.validity
        answerHoldsUntil = max(end, now)
        add(Lease(start: now + lease.wait, end: end, left: granted), at: now)
    }

    private mutating func add(_ lease: Lease, at now: Duration) {
        expire(at: now)
        guard let first = current else { return current = lease }
        // An order is made when little is left, so a third lease is rare. It replaces the second, whose rest is given
        // back.
        if let next { charge -= next.left }
        (current, next) = lease.start < first.start ? (lease, first) : (first, lease)
    }

    /// Whether the state can be forgotten, because it equals that of a rate that was never used.
    package func isIdle(at now: Duration) -> Bool {
        asked == nil && [current, next].allSatisfy { $0.map { $0.end <= now } ?? true } && local.isIdle(at: now)
            && max(answerHoldsUntil, nextOrderFrom) <= now
    }
}

/// Shares the openings of circuits among several processes.
package protocol CircuitSharing: Sendable {
    /// The shortest time between two questions about circuits in use.
    var circuitRefresh: Duration { get }

    /// Publishes the openings in the question. Returns for each circuit, in the order of the question, the time for
    /// which it is still open in any process, zero if in none. Returns `nil` if nobody answers. Takes a bounded time.
    func ask(_ question: [CircuitQuestion]) async -> [Duration]?
}

/// A question about one circuit.
package struct CircuitQuestion: Sendable, Hashable {
    package let name: String
    /// The rest of the time for which the circuit of this process is open, to publish. Zero if the question only asks.
    /// A duration, because processes have no clock in common.
    package let remaining: Duration

    package init(name: String, remaining: Duration = .zero) {
        self.name = name
        // Bounded, so that an Int can hold its milliseconds.
        self.remaining = min(max(remaining, .zero), .seconds(31_536_000))
    }
}

/// The circuits of a session that other processes share.
///
///     own circuit:  closed ── too many failures of enough calls ──▶ open: published
///                   closed ── its first failures, below the minimum of calls, while another process's is open
///                                                               ──▶ open: not published
///                   half-open ── the probe fails ───────────────▶ open: not published
///     while another process's is open, the minimum of calls does not count
///
/// An opening elsewhere never opens a circuit: a process that alone cannot reach the server stops nobody, and neither
/// does one unlucky window. An opening is published only if its process had the minimum of calls. Otherwise processes
/// with few calls would prolong each other's openings, and one sick process would do so with each failing probe.
///
/// Questions follow from requests: openings are published at once, and circuits for which requests were sent are asked
/// about once per `refresh`. A question has up to `maximumAsked` circuits; if there are more, the next one follows its
/// answer. No request waits for an answer. Without one, each process relies on what it has seen itself.
///
/// A value type. Times are durations since any fixed start. The caller carries out the questions, one at a time.
package struct SharedCircuits: Sendable {
    /// The largest number of circuits in a question.
    package static let maximumAsked = 128

    /// The circuits for which requests were sent since the last question.
    private var used: Set<String> = []
    /// The ends of the openings to publish with the next question.
    private var unpublished: [String: Duration] = [:]
    /// The openings in the current question, with their ends. Stored again if there is no answer.
    private var publishing: [String: Duration] = [:]
    private var isAsking = false
    /// The time before which no question is asked that publishes nothing.
    private var nextQuestionFrom = Duration.zero
    /// The time before which no question follows one without an answer.
    private var retriesFrom = Duration.zero

    package init() {}

    /// Records that a request is sent.
    package mutating func use(_ name: String) { used.insert(name) }

    /// Records that the circuit has opened after the minimum of calls.
    package mutating func opened(_ name: String, until end: Duration) { unpublished[name] = end }

    /// Returns the question that is due. Empty if there is none. The caller passes its answer to `answered`.
    package mutating func question(refresh: Duration, at now: Duration) -> [CircuitQuestion] {
        guard !isAsking, now >= retriesFrom, !unpublished.isEmpty || !used.isEmpty && now >= nextQuestionFrom else {
            return []
        }
        let names = (Array(unpublished.keys) + used.filter { unpublished[$0] == nil }).prefix(Self.maximumAsked)
        used.subtract(names)
        isAsking = true
        nextQuestionFrom = used.isEmpty ? now + refresh : now
        return names.map { name in
            guard let end = unpublished.removeValue(forKey: name) else { return CircuitQuestion(name: name) }
            publishing[name] = end
            // Zero if the opening is over by now; it is then not published.
            return CircuitQuestion(name: name, remaining: end - now)
        }
    }

    /// Records the answer to a question; `nil` if there was none. Returns the circuits that are open in a process.
    package mutating func answered(
        _ answer: [Duration]?, to question: [CircuitQuestion], refresh: Duration, at now: Duration
    ) -> [(name: String, remaining: Duration)] {
        isAsking = false
        let published = exchange(&publishing, with: [:])
        guard let answer, answer.count == question.count else {
            retriesFrom = now + refresh
            // Published with the next question, unless the circuit has opened anew meanwhile.
            unpublished.merge(published) { later, _ in later }
            return []
        }
        return zip(question, answer).compactMap { $1 > .zero ? ($0.name, $1) : nil }
    }

    /// Forgets circuits that were removed.
    package mutating func forget(allBut isKept: (_ name: String) -> Bool) {
        used = used.filter(isKept)
        unpublished = unpublished.filter { isKept($0.key) }
    }
}
