internal import CurlewCore
internal import CurlewTesting
internal import Testing

@Suite("Leased rates", .timeLimit(.minutes(4)))
struct LeasedRateTests {
    /// A server of leases, reduced to the due time of the rate. It uses the same clock as the processes.
    private struct Server {
        let rate: CellRate
        var due = Duration.zero
        var granted = 0

        mutating func lease(_ order: RateLeaseOrder, at now: Duration) -> RateLease {
            due = max(max(due, now) + rate.interval * order.charge, now)
            let wait = max(.zero, due - rate.tolerance - now)
            if wait > .seconds(1) { return RateLease(granted: 0, wait: wait, retry: wait - .seconds(1)) }
            due += rate.interval * order.wanted
            granted += order.wanted
            return RateLease(granted: order.wanted, wait: wait)
        }
    }

    private static func rate(_ count: Int, share: Double = 0.1, burst: Int = 1) -> LeasedRate {
        LeasedRate(CellRate(count, per: .seconds(1), burst: burst), share: share)
    }

    /// Returns the order that is due. Fails if there is none.
    private static func order(_ rate: inout LeasedRate, waiting: Int, at now: Duration) throws -> RateLeaseOrder {
        let order = rate.order("a", waiting: waiting, at: now)
        return try #require(order)
    }

    @Test("a lease grants one request in each interval, and nothing once it is used up")
    func takes() throws {
        var rate = Self.rate(100)
        _ = try Self.order(&rate, waiting: 3, at: .zero)
        rate.answered(RateLease(granted: 3), at: .zero)
        var times: [Duration] = []
        while times.count < 3 {
            times.append(rate.opens(at: times.last ?? .zero))
            rate.admit(at: times[times.count - 1])
        }
        #expect(times == [.zero, .milliseconds(10), .milliseconds(20)])
        // The server's response is valid for a second. Until then the local share is not used.
        #expect(rate.opens(at: .milliseconds(30)) == .seconds(1))
    }

    @Test("a lease permits a burst at once")
    func burst() throws {
        var rate = Self.rate(100, burst: 5)
        _ = try Self.order(&rate, waiting: 7, at: .zero)
        rate.answered(RateLease(granted: 7), at: .zero)
        for _ in 0..<5 {
            #expect(rate.opens(at: .zero) == .zero)
            rate.admit(at: .zero)
        }
        #expect(rate.opens(at: .zero) == .milliseconds(10))
    }

    @Test("a lease grants nothing before its beginning or after its end")
    func validity() throws {
        var rate = Self.rate(1_000)
        _ = try Self.order(&rate, waiting: 5, at: .zero)
        rate.answered(RateLease(granted: 5, wait: .milliseconds(300)), at: .zero)
        #expect(rate.opens(at: .zero) == .milliseconds(300))
        #expect(rate.opens(after: 2, at: .zero) == .milliseconds(302))
        #expect(rate.opens(at: .seconds(1)) == .seconds(1))
        rate.admit(at: .seconds(1))
        // Four requests of the lease are left, and are given back. The local share permits a request of its own.
        rate.admit(at: .milliseconds(1_300))
        let order = try Self.order(&rate, waiting: 1, at: .milliseconds(1_300))
        #expect(order.charge == 1 - 4 && order.sentLocally == 1)
    }

    @Test("the next lease, for a tenth of a second, is ordered once, when a third of the last one is left")
    func ordersAhead() throws {
        var rate = Self.rate(1_000)
        _ = try Self.order(&rate, waiting: 30, at: .zero)
        rate.answered(RateLease(granted: 30), at: .zero)
        for number in 1...30 {
            rate.admit(at: .milliseconds(10 * number))
            let order = rate.order("a", waiting: 0, at: .milliseconds(10 * number))
            #expect((order != nil) == (number == 20))
            if let order { #expect(order.wanted == 10 && order.charge == 0) }
        }
        #expect(rate.asksAt(.seconds(1)) == nil, "one is under way")
        rate.answered(RateLease(granted: 10), at: .milliseconds(300))
        #expect(rate.opens(at: .milliseconds(300)) == .milliseconds(300))
    }

    @Test("a request after a long pause does not wait, and is charged afterwards")
    func rare() throws {
        var rate = Self.rate(1_000)
        for second in [0, 5, 10] {
            let now = Duration.seconds(second)
            #expect(rate.opens(at: now) == now)
            rate.admit(at: now)
            let order = try Self.order(&rate, waiting: 0, at: now)
            #expect(order.charge == 1 && order.sentLocally == 1)
            rate.answered(RateLease(granted: order.wanted), at: now + .milliseconds(1))
        }
    }

    @Test("a refusal holds back requests until their time, and orders until the retry time")
    func refused() throws {
        var rate = Self.rate(10)
        _ = try Self.order(&rate, waiting: 1, at: .zero)
        rate.answered(RateLease(granted: 0, wait: .seconds(5), retry: .seconds(4)), at: .zero)
        #expect(rate.opens(at: .seconds(1)) == .seconds(5))
        #expect(rate.soonest(after: 0, at: .seconds(1)) == .seconds(5))
        #expect(rate.asksAt(.seconds(1)) == .seconds(4))
        let early = rate.order("a", waiting: 1, at: .seconds(3))
        #expect(early == nil)
        _ = try Self.order(&rate, waiting: 1, at: .seconds(4))
        // While the next order is pending, its response is unknown, so the wait could be over at once.
        #expect(rate.soonest(after: 0, at: .seconds(4)) == .seconds(4))
    }

    @Test("without a reply the local share applies after a bounded time, and orders become less frequent")
    func away() throws {
        var rate = Self.rate(100, share: 0.25)
        _ = try Self.order(&rate, waiting: 1, at: .zero)
        rate.answered(RateLease(granted: 1), at: .zero)
        rate.admit(at: .zero)
        _ = try Self.order(&rate, waiting: 9, at: .milliseconds(5))
        #expect(rate.opens(at: .milliseconds(5)) == .milliseconds(5) + LeasedRate.patience)
        rate.answered(nil, at: .milliseconds(20))
        var (now, sent, questions) = (Duration.milliseconds(20), 0, 0)
        while now < .seconds(20) {
            if rate.opens(at: now) == now {
                rate.admit(at: now)
                sent += 1
            }
            if let order = rate.order("a", waiting: 5, at: now) {
                #expect(order.charge == 0 && order.sentLocally > 0)
                rate.answered(nil, at: now)
                questions += 1
            }
            now += .milliseconds(1)
        }
        #expect((499...501).contains(sent))
        #expect((4...7).contains(questions))
    }

    @Test("a response from the server ends the use of the local share")
    func back() throws {
        var rate = Self.rate(100)
        _ = try Self.order(&rate, waiting: 1, at: .zero)
        rate.answered(nil, at: .zero)
        rate.admit(at: .zero)
        let order = try Self.order(&rate, waiting: 1, at: .seconds(1))
        rate.answered(RateLease(granted: order.wanted), at: .seconds(1))
        #expect(rate.opens(at: .seconds(1)) == .seconds(1))
        rate.admit(at: .seconds(1))
        #expect(rate.opens(at: .seconds(1)) == .seconds(2))
    }

    @Test("a rate is idle before its first order and after its lease has ended, but not while one is pending")
    func idle() throws {
        var rate = Self.rate(100)
        #expect(rate.isIdle(at: .zero))
        _ = try Self.order(&rate, waiting: 1, at: .zero)
        #expect(!rate.isIdle(at: .seconds(9)))
        rate.answered(RateLease(granted: 1), at: .zero)
        #expect(!rate.isIdle(at: .zero) && rate.isIdle(at: .seconds(2)))
    }

    private struct Fleet: RateLeasing {
        let localShare = 0.1

        func lease(_ order: RateLeaseOrder) async -> RateLease? { nil }
    }

    @Test("requests wait for a lease in order of urgency, and use the local share if there is no response")
    func admission() throws {
        let limit = RateLimit.requests(10, per: .seconds(1), burst: 20).shared(byFleet: Fleet())
        var state = AdmissionState(AdmissionPolicy(rateLimit: limit))
        let keys = AdmissionKeys(rates: ["a"])
        var tickets: [AdmissionState.Ticket] = []
        for urgency in [3, 3, 5, 1] {
            if case .waits(let ticket) = state.ask(keys, urgency: urgency, deadline: nil, at: .zero).0 {
                tickets.append(ticket)
            }
        }
        try #require(tickets.count == 2, "a tenth of the burst was sent without a lease")
        let orders = state.leaseOrders(at: .zero)
        try #require(orders.count == 1)
        #expect(orders[0].order.charge == 2 && orders[0].order.wanted == 1)
        let others = state.leaseOrders(at: .zero)
        #expect(others.isEmpty, "one order at a time")
        state.leased(RateLease(granted: 1), for: orders[0], at: .milliseconds(5))
        #expect(state.decide(at: .milliseconds(5)).map(\.0) == [tickets[1]])
        let more = state.leaseOrders(at: .milliseconds(5))
        try #require(more.count == 1)
        state.leased(nil, for: more[0], at: .milliseconds(10))
        let none = state.decide(at: .milliseconds(10))
        #expect(none.isEmpty)
        let turn = try #require(state.nextTurn(at: .milliseconds(10)))
        // First another order is due, and then the local share permits a request.
        #expect(turn == .milliseconds(260))
        let due = state.leaseOrders(at: turn)
        let last = try #require(due.first)
        let next = try #require(state.nextTurn(at: turn))
        #expect(next > .milliseconds(900) && next < .milliseconds(1_100))
        #expect(state.decide(at: next).map(\.0) == [tickets[0]])
        state.leased(RateLease(granted: 1), for: last, at: next)
        #expect(state.waiting == 0 && state.nextTurn(at: next) == nil)
    }

    @Test("a request that may not wait is refused with the time until its lease")
    func impatient() throws {
        let limit = RateLimit.requests(10, per: .seconds(1)).shared(byFleet: Fleet())
        var state = AdmissionState(AdmissionPolicy(rateLimit: limit, waits: false))
        let keys = AdmissionKeys(rates: ["a"])
        guard case .decided(.admitted) = state.ask(keys, urgency: 3, deadline: nil, at: .zero).0 else {
            return #expect(Bool(false), "the local share has a request")
        }
        let orders = state.leaseOrders(at: .zero)
        let order = try #require(orders.first)
        state.leased(RateLease(granted: 0, wait: .milliseconds(100)), for: order, at: .zero)
        guard case .decided(.refused(let refusal)) = state.ask(keys, urgency: 3, deadline: nil, at: .zero).0 else {
            return #expect(Bool(false), "nothing is leased")
        }
        #expect(refusal.cause == .rate && refusal.retryAfter ?? .zero >= .milliseconds(100))
    }

    @Test("a rate keeps its record while its order is under way, when those of other names are removed")
    func kept() throws {
        let limit = RateLimit.requests(10, per: .seconds(1), burst: 20).shared(byFleet: Fleet())
        var state = AdmissionState(AdmissionPolicy(rateLimit: limit), fewNames: 3)
        // Asks until a request has to wait.
        func waiting(_ name: String, at now: Duration) -> AdmissionState.Ticket? {
            for _ in 0..<9 {
                switch state.ask(AdmissionKeys(rates: [name]), urgency: 3, deadline: nil, at: now).0 {
                case .decided(.admitted(let permit)): state.finish(permit, nil, nil, nil, at: now)
                case .decided(.refused): return nil
                case .waits(let ticket): return ticket
                }
            }
            return nil
        }
        func askAndLeave(_ name: String, at now: Duration) throws {
            let ticket = try #require(waiting(name, at: now))
            let didLeave = state.leave(ticket, AdmissionKeys(rates: [name]))
            #expect(didLeave)
        }
        try askAndLeave("first", at: .zero)
        let ticket = try #require(waiting("a", at: .zero))
        let orders = state.leaseOrders(at: .zero)
        let order = try #require(orders.first { $0.order.name == "a" })
        let didLeave = state.leave(ticket, AdmissionKeys(rates: ["a"]))
        #expect(didLeave)
        for index in 1...20 { try askAndLeave("other \(index)", at: .seconds(10 * index)) }
        let now = Duration.seconds(300)
        #expect(waiting("a", at: now) != nil)
        let others = state.leaseOrders(at: now).map(\.order.name)
        #expect(!others.isEmpty && !others.contains("a"), "one order at a time")
        state.leased(nil, for: order, at: now)
        let next = state.leaseOrders(at: now + .seconds(5)).map(\.order.name)
        #expect(next.contains("a"))
    }

    @Test("several processes together send no more requests than the server grants and charges", arguments: 0..<60)
    func together(seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        let limit = Int.random(in: 1...400, using: &random)
        let cell = CellRate(limit, per: .seconds(1), burst: Int.random(in: 1...5, using: &random))
        var server = Server(rate: cell)
        var processes = (0..<Int.random(in: 1...6, using: &random)).map { _ in LeasedRate(cell, share: 0.05) }
        var answers: [(index: Int, order: RateLeaseOrder, at: Duration)] = []
        var (sent, charged, now) = (0, 0, Duration.zero)
        let end = Duration.seconds(20)
        while now < end {
            now += .microseconds(Int.random(in: 1...4_000, using: &random))
            for answer in answers where answer.at <= now {
                charged += answer.order.charge
                processes[answer.index].answered(server.lease(answer.order, at: now), at: now)
            }
            answers.removeAll { $0.at <= now }
            let index = Int.random(in: 0..<processes.count, using: &random)
            let wanted = Int.random(in: 0...8, using: &random)
            var waiting = wanted
            while waiting > 0, processes[index].opens(at: now) == now {
                processes[index].admit(at: now)
                (waiting, sent) = (waiting - 1, sent + 1)
            }
            if let order = processes[index].order("a", waiting: waiting, at: now) {
                answers.append((index, order, now + .microseconds(Int.random(in: 100...5_000, using: &random))))
            }
        }
        // Charges that have not reached the server yet. The local share permits no more in a second and a half.
        let pending = processes.count * (2 + limit / 10)
        #expect(sent <= server.granted + charged + pending)
        // The server's own limit, and requests that it has charged late.
        #expect(sent <= limit * 20 + limit + 5 + 2 * pending)
    }
}
