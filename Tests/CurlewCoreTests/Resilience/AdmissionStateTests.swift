internal import CurlewCore
internal import CurlewTesting
internal import Foundation
internal import Testing

@Suite("Admission", .timeLimit(.minutes(4)))
struct AdmissionStateTests {
    private typealias Ticket = AdmissionState.Ticket
    private typealias Verdict = AdmissionState.Verdict

    private static func state(
        rate: RateLimit? = nil, concurrency: ConcurrencyLimit? = nil, breaker: CircuitBreaker? = nil,
        waits: Bool = true, maximumWaiting: Int = 1_000, fewNames: Int = 4_096
    ) -> AdmissionState {
        AdmissionState(
            AdmissionPolicy(
                rateLimit: rate, concurrency: concurrency, breaker: breaker, waits: waits,
                maximumWaiting: maximumWaiting),
            fewNames: fewNames)
    }

    private static func permit(_ answer: AdmissionState.Answer) -> AdmissionState.Permit? {
        if case .decided(.admitted(let permit)) = answer { permit } else { nil }
    }

    private static func refusal(_ answer: AdmissionState.Answer) -> AdmissionState.Refusal? {
        if case .decided(.refused(let refusal)) = answer { refusal } else { nil }
    }

    private static func ticket(_ answer: AdmissionState.Answer) -> Ticket? {
        if case .waits(let ticket) = answer { ticket } else { nil }
    }

    @Test("a free place is given to the most urgent request, and among equals to the first")
    func order() throws {
        let keys = AdmissionKeys(places: "a")
        var state = Self.state(concurrency: .fixed(1))
        var permit = try #require(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0))
        var tickets: [Int: Ticket] = [:]
        for (name, urgency) in [(0, 3), (1, 7), (2, 3), (3, 1), (4, 1)] {
            tickets[name] = try #require(Self.ticket(state.ask(keys, urgency: urgency, deadline: nil, at: .zero).0))
        }
        #expect(state.nextTurn(at: .zero) == nil, "only an end brings the next turn")
        var order: [Ticket] = []
        while order.count < 5 {
            state.finish(permit, nil, nil, nil, at: .zero)
            let decided = state.decide(at: .zero)
            try #require(decided.count == 1)
            order.append(decided[0].0)
            permit = try #require(Self.permit(.decided(decided[0].1)))
        }
        #expect(order == [3, 4, 0, 2, 1].map { tickets[$0] })
    }

    @Test("a rate admits one waiting request in each interval, and tells the time of the next")
    func rate() throws {
        let keys = AdmissionKeys(rates: ["a"])
        var state = Self.state(rate: .requests(10, per: .seconds(1)))
        #expect(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0) != nil)
        let first = Self.ticket(state.ask(keys, urgency: 3, deadline: .seconds(1), at: .zero).0)
        let second = Self.ticket(state.ask(keys, urgency: 3, deadline: .seconds(1), at: .zero).0)
        #expect(state.nextTurn(at: .zero) == .milliseconds(100))
        #expect(state.decide(at: .milliseconds(99)).isEmpty)
        #expect(state.decide(at: .milliseconds(100)).map(\.0) == [first])
        #expect(state.decide(at: .milliseconds(200)).map(\.0) == [second])
        #expect(state.waiting == 0 && state.nextTurn(at: .seconds(1)) == nil)
    }

    @Test("a request whose turn would be after its deadline is refused at once, and a more urgent one waits")
    func tooLong() throws {
        let keys = AdmissionKeys(rates: ["a"])
        var state = Self.state(rate: .requests(10, per: .seconds(1)))
        _ = state.ask(keys, urgency: 3, deadline: nil, at: .zero)
        for _ in 0..<4 {
            #expect(Self.ticket(state.ask(keys, urgency: 3, deadline: .milliseconds(400), at: .zero).0) != nil)
        }
        let refused = Self.refusal(state.ask(keys, urgency: 3, deadline: .milliseconds(400), at: .zero).0)
        #expect(refused == AdmissionState.Refusal(cause: .rate, retryAfter: .milliseconds(500)))
        #expect(Self.ticket(state.ask(keys, urgency: 0, deadline: .milliseconds(400), at: .zero).0) != nil)
        #expect(state.waiting == 5)
    }

    @Test("a request beyond a limit is refused at once if the policy does not permit waiting")
    func doesNotWait() {
        let keys = AdmissionKeys(rates: ["a"], places: "a")
        var state = Self.state(rate: .requests(1, per: .seconds(9)), concurrency: .fixed(1), waits: false)
        #expect(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0) != nil)
        #expect(Self.refusal(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0)?.cause == .rate)
        #expect(Self.refusal(state.ask(keys, urgency: 3, deadline: nil, at: .seconds(9)).0)?.cause == .places)
        #expect(state.waiting == 0)
    }

    @Test("beyond the maximum, the least urgent waiting request is shed, and among equals the last")
    func sheds() throws {
        let keys = AdmissionKeys(places: "a")
        var state = Self.state(concurrency: .fixed(1), maximumWaiting: 2)
        _ = state.ask(keys, urgency: 3, deadline: nil, at: .zero)
        _ = state.ask(keys, urgency: 5, deadline: nil, at: .zero)
        let last = try #require(Self.ticket(state.ask(keys, urgency: 5, deadline: nil, at: .zero).0))
        let (answer, others) = state.ask(keys, urgency: 1, deadline: nil, at: .zero)
        #expect(Self.ticket(answer) != nil && others.map(\.0) == [last])
        #expect(Self.refusal(state.ask(keys, urgency: 6, deadline: nil, at: .zero).0)?.cause == .shed)
        #expect(state.waiting == 2)
    }

    @Test("among equals, a request of the longest lane is shed: one server's requests displace none of another's")
    func shedsOfTheLongestLane() throws {
        var state = Self.state(concurrency: .fixed(1), maximumWaiting: 3)
        let (paused, healthy) = (AdmissionKeys(places: "a"), AdmissionKeys(places: "b"))
        var tickets: [Ticket] = []
        for keys in [paused, healthy] { _ = state.ask(keys, urgency: 3, deadline: nil, at: .zero) }
        for _ in 0..<3 {
            tickets.append(try #require(Self.ticket(state.ask(paused, urgency: 3, deadline: nil, at: .zero).0)))
        }
        let (answer, others) = state.ask(healthy, urgency: 3, deadline: nil, at: .zero)
        #expect(Self.ticket(answer) != nil && others.map(\.0) == [tickets[2]])
    }

    @Test("a request is not refused for the time of those that its arrival lets go")
    func lateTick() throws {
        let keys = AdmissionKeys(rates: ["a"])
        var state = Self.state(rate: .requests(10, per: .seconds(1)))
        for _ in 0..<6 { _ = state.ask(keys, urgency: 3, deadline: nil, at: .zero) }
        #expect(state.waiting == 5)
        // The tick for 100 ms is late. One of the five goes now, so this one's turn is at 600 ms.
        let (answer, others) = state.ask(keys, urgency: 3, deadline: .milliseconds(650), at: .milliseconds(101))
        #expect(others.count == 1 && Self.ticket(answer) != nil)
    }

    @Test("requests of many lanes are admitted in their order, as one lane's would be")
    func manyLanes() throws {
        // All share a rate; each has a place of its own.
        let names = (0..<2_000).map { "\($0 % 1_000)" }
        var state = Self.state(
            rate: .requests(1_000_000, per: .seconds(1), burst: 1_000_000), concurrency: .fixed(2),
            maximumWaiting: 10_000)
        let first = AdmissionKeys(rates: ["all"], quota: "all")
        let permit = try #require(Self.permit(state.ask(first, urgency: 3, deadline: nil, at: .zero).0))
        let advice = try #require(ServerAdvice(["Retry-After": "10"], status: 429, now: Date()))
        state.finish(permit, nil, nil, advice, at: .zero)
        var tickets: [Ticket] = []
        for (index, name) in names.enumerated() {
            let keys = AdmissionKeys(rates: ["all"], quota: "all", places: name)
            let answer = state.ask(keys, urgency: index % 5, deadline: nil, at: .zero).0
            tickets.append(try #require(Self.ticket(answer)))
        }
        let decided = state.decide(at: .seconds(11)).map(\.0)
        #expect(decided == tickets.sorted() && state.waiting == 0)
    }

    @Test("a circuit that opens refuses waiting requests, new requests and early retries")
    func circuit() throws {
        let keys = AdmissionKeys(places: "a", circuit: "a")
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1)
        var state = Self.state(concurrency: .fixed(1), breaker: breaker)
        let permit = try #require(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0))
        let ticket = try #require(Self.ticket(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0))
        state.finish(permit, nil, CircuitState.Call(isFailure: true), nil, at: .zero)
        let open = AdmissionState.Refusal(cause: .open, retryAfter: .seconds(10))
        #expect(state.decide(at: .zero).map(\.1) == [.refused(open)])
        #expect(state.leave(ticket, keys) == false && state.waiting == 0)
        #expect(Self.refusal(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0) == open)
        #expect(state.circuitIsOpen(keys, after: .seconds(9), at: .zero))
        #expect(!state.circuitIsOpen(keys, after: .seconds(10), at: .zero))
        #expect(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .seconds(10)).0) != nil)
        #expect(Self.refusal(state.ask(keys, urgency: 3, deadline: nil, at: .seconds(10)).0)?.cause == .probing)
    }

    @Test("a lane that waits for its rate does not block another lane with the same places")
    func lanes() throws {
        var state = Self.state(rate: .requests(1, per: .seconds(1)), concurrency: .fixed(1))
        let (one, two) = (AdmissionKeys(rates: ["1"], places: "p"), AdmissionKeys(rates: ["2"], places: "p"))
        let permit = try #require(Self.permit(state.ask(one, urgency: 3, deadline: nil, at: .zero).0))
        let first = try #require(Self.ticket(state.ask(one, urgency: 1, deadline: nil, at: .zero).0))
        let other = try #require(Self.ticket(state.ask(two, urgency: 5, deadline: nil, at: .zero).0))
        state.finish(permit, nil, nil, nil, at: .zero)
        // The first request has to wait for its rate, and holds no place meanwhile.
        let decided = state.decide(at: .zero)
        #expect(decided.map(\.0) == [other])
        state.finish(try #require(Self.permit(.decided(decided[0].1))), nil, nil, nil, at: .seconds(1))
        #expect(state.decide(at: .seconds(1)).map(\.0) == [first])
    }

    @Test("Retry-After closes only the lane of its own quota")
    func advice() throws {
        let keys = AdmissionKeys(quota: "a")
        var state = Self.state(rate: .server())
        let permit = try #require(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .zero).0))
        var advice = try #require(ServerAdvice(["Retry-After": "9"], status: 429, now: Date(timeIntervalSince1970: 0)))
        advice.pause = .seconds(9)
        state.finish(permit, nil, nil, advice, at: .zero)
        let refused = Self.refusal(state.ask(keys, urgency: 3, deadline: .seconds(8), at: .zero).0)
        #expect(refused?.retryAfter == .seconds(9))
        #expect(Self.permit(state.ask(AdmissionKeys(quota: "b"), urgency: 3, deadline: nil, at: .zero).0) != nil)
        #expect(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .seconds(9)).0) != nil)
    }

    @Test("the states of unused names are removed")
    func forgets() {
        var state = Self.state(rate: .requests(1, per: .seconds(1)), concurrency: .fixed(1), breaker: CircuitBreaker())
        for number in 0..<20_000 {
            let name = "\(number)"
            let keys = AdmissionKeys(rates: [name], places: name, circuit: name)
            guard let permit = Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .seconds(number)).0) else {
                return #expect(Bool(false), "a new name is admitted")
            }
            state.finish(permit, nil, nil, nil, at: .seconds(number))
        }
        #expect(state.concurrency.count < 10_000)
    }

    @Test("unused circuits with outcomes are removed, even while a request waits")
    func forgetsCircuits() throws {
        var state = Self.state(concurrency: .fixed(1), breaker: CircuitBreaker())
        // One request keeps the only place until the end, and another one waits for it.
        let slow = AdmissionKeys(places: "slow")
        #expect(Self.permit(state.ask(slow, urgency: 3, deadline: nil, at: .zero).0) != nil)
        _ = state.ask(slow, urgency: 3, deadline: nil, at: .zero)
        #expect(state.waiting == 1)
        for number in 0..<20_000 {
            let keys = AdmissionKeys(circuit: "\(number)")
            let permit = try #require(Self.permit(state.ask(keys, urgency: 3, deadline: nil, at: .seconds(number)).0))
            let call = CircuitState.Call(isFailure: number.isMultiple(of: 2), isSlow: false)
            state.finish(permit, nil, call, nil, at: .seconds(number))
        }
        #expect(state.phases(at: .seconds(20_000)).count < 10_000 && state.waiting == 1)
    }

    @Test("a server's quota concerns its origin, except for limits that have no rate or ignore the server")
    func quotaNames() {
        func name(_ limit: RateLimit, _ host: String) -> String? {
            let request = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: URL(filePath: "/"))
            return limit.quotaName(of: request, origin: "https://\(host)")
        }
        #expect(name(.requests(1, per: .seconds(1), per: .session), "a") == "https://a session")
        #expect(name(.requests(1, per: .seconds(1), per: .key { _ in "k" }), "b") == "https://b k")
        #expect(name(.requests(1, per: .seconds(1)), "a") == "https://a")
        #expect(name(.server(per: .session), "a") == "session")
        var deaf = RateLimit.requests(1, per: .seconds(1))
        deaf.followsServer = false
        #expect(name(deaf, "a") == nil)
    }

    private struct Fleet: RateLeasing, CircuitSharing {
        let localShare = 0.1
        let circuitRefresh = Duration.seconds(1)

        func lease(_ order: RateLeaseOrder) async -> RateLease? { nil }
        func ask(_ question: [CircuitQuestion]) async -> [Duration]? { nil }
    }

    /// The session's parts with a rate of its own, or everything shared with a fleet.
    private static func jumpingState(isShared: Bool) -> AdmissionState {
        var rate = RateLimit.requests(2, per: .seconds(1), burst: 3)
        var breaker = CircuitBreaker(window: .time(.seconds(20)), minimumCalls: 4)
        if isShared { (rate, breaker) = (rate.shared(byFleet: Fleet()), breaker.shared(byFleet: Fleet())) }
        return state(rate: rate, concurrency: .adaptive(initial: 6), breaker: breaker, maximumWaiting: 10)
    }

    @Test(
        "requests are admitted as if times that jump back had stood still, and none waits longer than its limits say",
        arguments: 0..<100 as Range<UInt64>)
    func timesThatJumpBack(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var jumping = Self.jumpingState(isShared: seed % 2 == 1)
        var steady = jumping
        var clock = JumpingClock()
        let keys = AdmissionKeys(rates: ["a"], quota: "a", places: "a", circuit: "a")
        let breaker = CircuitBreaker()
        var flying: [AdmissionState.Permit] = []
        var orders: [(AdmissionState.FleetOrder, AdmissionState.FleetOrder)] = []
        func add(_ decided: [(Ticket, Verdict)]) {
            flying += decided.compactMap { Self.permit(.decided($0.1)) }
        }
        for _ in 0..<400 {
            clock.advance(using: &random)
            let (now, latest) = (clock.now, clock.latest)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let (answer, others) = jumping.ask(keys, urgency: 3, deadline: nil, at: now)
                let (expected, expectedOthers) = steady.ask(keys, urgency: 3, deadline: nil, at: latest)
                #expect(answer == expected && others.map(\.1) == expectedOthers.map(\.1))
                if let permit = Self.permit(answer) { flying.append(permit) }
                if let refusal = Self.refusal(answer) { #expect(refusal.retryAfter ?? .zero <= .seconds(60)) }
                add(others)
            case 2 where !flying.isEmpty:
                let permit = flying.remove(at: .random(in: 0..<flying.count, using: &random))
                let outcome = AttemptOutcome(status: Int.random(in: 0..<3, using: &random) == 0 ? 500 : 200)
                let fields: HTTPHeaders = ["RateLimit": "\"a\";r=2;t=30"]
                let advice = Bool.random(using: &random) ? ServerAdvice(fields, status: 200, now: Date()) : nil
                jumping.finish(permit, outcome, breaker.call(outcome), advice, at: now)
                steady.finish(permit, outcome, breaker.call(outcome), advice, at: latest)
            case 3 where !orders.isEmpty:
                let (order, same) = orders.removeFirst()
                let grant =
                    Bool.random(using: &random) ? RateLease(granted: Int.random(in: 1...3, using: &random)) : nil
                switch (order, same) {
                case (.lease(let order), .lease(let same)):
                    jumping.leased(grant, for: order, at: now)
                    steady.leased(grant, for: same, at: latest)
                case (.circuits(let question, _), .circuits(let same, _)):
                    let answer = grant.map { _ in question.map { _ in Duration.seconds(7_200) } }
                    jumping.answered(answer, to: question, at: now)
                    steady.answered(answer, to: same, at: latest)
                default: Issue.record("both have the same orders")
                }
            default: break
            }
            let (decided, expected) = (jumping.decide(at: now), steady.decide(at: latest))
            #expect(decided.map(\.0) == expected.map(\.0) && decided.map(\.1) == expected.map(\.1))
            add(decided)
            let (made, same) = (jumping.fleetOrders(at: now), steady.fleetOrders(at: latest))
            try #require(made.count == same.count)
            orders += zip(made, same)
            #expect(jumping.nextTurn(at: now) == steady.nextTurn(at: latest))
            #expect(jumping.pauses(at: now) == steady.pauses(at: latest))
            #expect(jumping.phases(at: now)["a"]?.phase == steady.phases(at: latest)["a"]?.phase)
            // The longest is a server's window of 30 s.
            #expect(jumping.pauses(at: now).values.allSatisfy { $0 <= .seconds(30) })
            if case .open(let until)? = jumping.phases(at: now)["a"]?.phase { #expect(until - latest <= .seconds(10)) }
        }
    }

    @Test("after a jump of an hour ahead, rates of a session and of a fleet permit no more than their burst at once")
    func jumpAhead() {
        for isShared in [false, true] {
            var limit = RateLimit.requests(10, per: .seconds(1), burst: 20)
            if isShared { limit = limit.shared(byFleet: Fleet()) }
            var state = Self.state(rate: limit)
            for hour in 0..<4 {
                let now = Duration.seconds(3_600 * hour)
                var admitted = 0
                while Self.permit(state.ask(AdmissionKeys(rates: ["a"]), urgency: 3, deadline: now, at: now).0) != nil {
                    admitted += 1
                }
                // Of a fleet's burst, the local share is a tenth.
                #expect(admitted == (isShared ? 2 : 20))
            }
        }
    }

    // MARK: Several rates

    @Test(
        "with several rates, a request is admitted when all permit it, and takes from all or none",
        arguments: 0..<100 as Range<UInt64>)
    func severalRates(seed: UInt64) {
        var random = SplitMix(seed: seed)
        // Of the session and of an origin, or both of an origin.
        let isOfSession = seed % 2 == 1
        let numbers = (0..<2).map { _ in
            (count: Int.random(in: 1...20, using: &random), burst: Int.random(in: 1...5, using: &random))
        }
        let limit = RateLimit.requests(numbers[0].count, per: .seconds(1), burst: numbers[0].burst).and(
            .requests(
                numbers[1].count, per: .seconds(1), burst: numbers[1].burst, per: isOfSession ? .session : .origin))
        let policy = AdmissionPolicy(rateLimit: limit, waits: false)
        var state = AdmissionState(policy)
        let request = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: URL(filePath: "/"))
        let origins = ["https://a.test", "https://b.test"]
        // A rate for each name of each part, changed only for requests that are admitted.
        var rates: [[String: CellRate]] = [[:], [:]]
        var sent: [[String: [Duration]]] = [[:], [:]]
        var now = Duration.zero
        for _ in 0..<1_000 {
            now += .milliseconds(Int.random(in: 0...60, using: &random))
            let origin = origins[Int.random(in: 0...1, using: &random)]
            let names = [origin, isOfSession ? "session" : origin]
            let used = names.indices.map { part in
                rates[part][names[part]] ?? CellRate(numbers[part].count, per: .seconds(1), burst: numbers[part].burst)
            }
            let answer = state.ask(
                policy.keys(of: request, origin: origin, takesPlace: true), urgency: 3, deadline: nil, at: now
            ).0
            let opens = used.map { $0.opens(at: now) }.max() ?? now
            if opens > now {
                #expect(answer == .decided(.refused(AdmissionState.Refusal(cause: .rate, retryAfter: opens - now))))
                continue
            }
            #expect(Self.permit(answer) != nil)
            for part in names.indices {
                var rate = used[part]
                rate.admit(at: now)
                rates[part][names[part]] = rate
                sent[part][names[part], default: []].append(now)
            }
        }
        for (part, number) in numbers.enumerated() {
            for times in sent[part].values {
                for (index, first) in times.enumerated() {
                    let inSecond = times[index...].prefix { $0 - first < .seconds(1) }.count
                    #expect(inSecond <= number.count + number.burst - 1)
                }
            }
        }
    }

    @Test("waiting requests are sent at the lowest of several rates", arguments: [true, false])
    func lowestRate(isOfSessionFirst: Bool) {
        let (low, high) = (
            RateLimit.requests(2, per: .seconds(1), per: .session), RateLimit.requests(10, per: .seconds(1))
        )
        var state = Self.state(rate: isOfSessionFirst ? low.and(high) : high.and(low))
        let keys = ["a", "b"].map { AdmissionKeys(rates: isOfSessionFirst ? ["session", $0] : [$0, "session"]) }
        var times: [Duration] = []
        for index in 0..<6 {
            let (answer, _) = state.ask(keys[index % 2], urgency: 3, deadline: nil, at: .zero)
            if Self.permit(answer) != nil { times.append(.zero) }
        }
        while let turn = state.nextTurn(at: times.last ?? .zero) {
            times += state.decide(at: turn).map { _ in turn }
        }
        #expect(times == (0..<6).map { .milliseconds(500 * $0) })
    }

    @Test("no place is lost or given twice in random sequences of events", arguments: 0..<100 as Range<UInt64>)
    func neverLeaks(seed: UInt64) {
        var random = SplitMix(seed: seed)
        // With many names and a low threshold, records are removed all the time, and their numbers given to others.
        let isSwept = seed % 2 == 1
        let names = isSwept ? (0..<30).map { "name \($0)" } : ["a", "b"]
        let places = Int.random(in: 1...5, using: &random)
        let breaker = CircuitBreaker(window: .count(10), minimumCalls: 5, openFor: .milliseconds(30))
        var state = Self.state(
            rate: .requests(300, per: .seconds(1), burst: 4), concurrency: .fixed(places), breaker: breaker,
            maximumWaiting: 20, fewNames: isSwept ? 3 : 4_096)
        let lanes = names.map { AdmissionKeys(rates: [$0], quota: $0, places: "shared", circuit: $0) }
        var flying: [AdmissionState.Permit] = []
        var waiting: [Ticket: AdmissionKeys] = [:]
        var now = Duration.zero
        func settle(_ ticket: Ticket, _ verdict: Verdict) {
            #expect(waiting.removeValue(forKey: ticket) != nil, "one verdict for each that waits")
            if case .admitted(let permit) = verdict { flying.append(permit) }
        }
        for _ in 0..<1_500 {
            now += .microseconds(Int.random(in: -2_000...6_000, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let keys = lanes[Int.random(in: 0..<lanes.count, using: &random)]
                let deadline = Bool.random(using: &random) ? nil : now + .milliseconds(20)
                let (answer, others) = state.ask(
                    keys, urgency: .random(in: 0...7, using: &random), deadline: deadline, at: now)
                switch answer {
                case .decided(.admitted(let permit)): flying.append(permit)
                case .decided(.refused): break
                case .waits(let ticket): waiting[ticket] = keys
                }
                for (ticket, verdict) in others { settle(ticket, verdict) }
            case 2 where !waiting.isEmpty:
                if let (ticket, keys) = waiting.randomElement(using: &random) {
                    let didLeave = state.leave(ticket, keys)
                    #expect(didLeave)
                    waiting[ticket] = nil
                }
            case 3 where !flying.isEmpty:
                let permit = flying.remove(at: .random(in: 0..<flying.count, using: &random))
                let isFailure = Int.random(in: 0..<4, using: &random) == 0
                let outcome = AttemptOutcome(status: isFailure ? 500 : 200)
                state.finish(permit, outcome, breaker.call(outcome), nil, at: now)
            default: break
            }
            for (ticket, verdict) in state.decide(at: now) { settle(ticket, verdict) }
            #expect(flying.count <= places)
            #expect((state.concurrency["shared"]?.inFlight ?? 0) == flying.count)
            #expect(state.waiting == waiting.count && waiting.count <= 20)
        }
        for permit in flying { state.finish(permit, nil, nil, nil, at: now) }
        // Every waiting request is decided when its turn comes.
        while let turn = state.nextTurn(at: now) {
            now = max(now, turn)
            for (ticket, verdict) in state.decide(at: now) {
                waiting[ticket] = nil
                if case .admitted(let permit) = verdict { state.finish(permit, nil, nil, nil, at: now) }
            }
        }
        #expect(waiting.isEmpty && state.waiting == 0 && (state.concurrency["shared"]?.inFlight ?? 0) == 0)
    }
}

/// Times that jump ahead and back by up to an hour, with the latest of them.
struct JumpingClock {
    private(set) var now = Duration.zero
    private(set) var latest = Duration.zero

    mutating func advance(using random: inout SplitMix) {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: now += .seconds(3_600)
        case 1: now -= .seconds(3_600)
        case 2: now = latest
        default: now += .milliseconds(Int.random(in: -300...500, using: &random))
        }
        latest = max(latest, now)
    }
}
