internal import CurlewCore
internal import CurlewTesting
internal import Testing

@Suite("Endpoints", .timeLimit(.minutes(4)))
struct EndpointStateTests {
    private typealias Endpoint = EndpointGroup.Endpoint
    private typealias Choice = EndpointState.Choice

    /// A rule that ejects after three failures in a row: for 10 s, then 20 s, at most 40 s.
    private static func rule(share: Double = 0.5) -> EndpointGroup.Ejection {
        EndpointGroup.Ejection(consecutiveFailures: 3, longestTime: .seconds(40), maximumShare: share)
    }

    private static func state(
        _ endpoints: [Endpoint], _ strategy: EndpointGroup.Strategy = .roundRobin, zone: String? = nil,
        ejection: EndpointGroup.Ejection? = rule()
    ) throws -> EndpointState {
        try #require(EndpointState(EndpointGroup(endpoints, strategy: strategy, zone: zone, ejection: ejection)))
    }

    /// Sends requests one after the other, and returns the endpoints that got them.
    private func send(
        _ count: Int, to state: inout EndpointState, at now: Duration = .zero, avoiding failed: Set<Int> = [],
        isFailure: (Int) -> Bool? = { _ in false }
    ) -> [Int] {
        var random = SplitMix(seed: 1)
        return (0..<count).map { _ in
            let choice = state.choose(avoiding: failed, at: now, using: &random)
            state.finish(choice, isFailure: isFailure(choice.index), at: now)
            return choice.index
        }
    }

    @Test("a group without endpoints has no state")
    func empty() { #expect(EndpointState(EndpointGroup([])) == nil) }

    // MARK: Strategies

    @Test("failover uses the first endpoint, and the next one while the first is ejected")
    func failover() throws {
        var state = try Self.state(["a", "b", "c"], .failover)
        #expect(send(3, to: &state) == [0, 0, 0])
        #expect(send(4, to: &state) { $0 == 0 } == [0, 0, 0, 1])
        #expect(send(4, to: &state, at: .seconds(9)) { $0 == 1 } == [1, 1, 1, 2])
        #expect(send(3, to: &state, at: .seconds(10)) == [0, 0, 0])
        #expect(send(1, to: &state, avoiding: [0]) == [2], "the second is ejected")
    }

    @Test("round robin uses all endpoints in turn, and a retry uses another one")
    func roundRobin() throws {
        var state = try Self.state(["a", "b", "c"])
        #expect(send(6, to: &state) == [0, 1, 2, 0, 1, 2])
        #expect(send(4, to: &state, avoiding: [0, 2]) == [1, 1, 1, 1])
        #expect(send(1, to: &state, avoiding: [0, 1, 2]).count == 1)
    }

    @Test("round robin stays close to the weights at every point of the sequence", arguments: 0..<50 as Range<UInt64>)
    func weights(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let weights = (0..<Int.random(in: 1...6, using: &random)).map { _ in Int.random(in: 1...9, using: &random) }
        let sum = weights.reduce(0, +)
        var state = try Self.state(weights.map { Endpoint("x", weight: $0) })
        var counts = weights.map { _ in 0 }
        for number in 1...(3 * sum) {
            let choice = state.choose(at: .zero, using: &random)
            counts[choice.index] += 1
            for (count, weight) in zip(counts, weights) {
                let share = Double(number * weight) / Double(sum)
                // The bounds of the credits in `nextInTurn`: no endpoint is ahead of its share by a whole request.
                #expect(Double(count) < share + 1 && Double(count) > share - Double(weights.count))
            }
            if number == sum { #expect(counts == weights) }
        }
        #expect(counts == weights.map { 3 * $0 })
    }

    @Test("least outstanding keeps the numbers of requests in flight close to each other", arguments: [2, 3, 8])
    func leastOutstanding(count: Int) throws {
        var state = try Self.state((0..<count).map { _ in "x" }, .leastOutstanding)
        var random = SplitMix(seed: 7)
        for _ in 0..<(20 * count) { _ = state.choose(at: .zero, using: &random) }
        let held = state.members(at: .zero).map(\.outstanding)
        #expect(held.reduce(0, +) == 20 * count)
        // With two endpoints, both are always compared.
        let spread = try #require(held.max()) - (try #require(held.min()))
        #expect(spread <= (count == 2 ? 1 : 12), "\(held)")
    }

    @Test("least outstanding distributes requests in proportion to the weights")
    func weightedOutstanding() throws {
        var state = try Self.state([Endpoint("a", weight: 1), Endpoint("b", weight: 3)], .leastOutstanding)
        var random = SplitMix(seed: 3)
        for _ in 0..<40 { _ = state.choose(at: .zero, using: &random) }
        #expect(state.members(at: .zero).map(\.outstanding) == [10, 30])
    }

    @Test("a weight outside the range counts as the nearest one inside")
    func extremeWeights() throws {
        var state = try Self.state([Endpoint("a", weight: .min), Endpoint("b", weight: .max)])
        let chosen = send(1_000, to: &state)
        #expect(chosen.allSatisfy { $0 == 1 })
    }

    // MARK: Zones

    @Test("endpoints of the local zone are preferred while one of them is available")
    func zones() throws {
        let endpoints = [Endpoint("a", zone: "far"), Endpoint("b", zone: "near"), Endpoint("c")]
        var state = try Self.state(endpoints, zone: "near")
        #expect(send(3, to: &state) == [1, 1, 1])
        #expect(Set(send(4, to: &state, avoiding: [1])) == [0, 2], "a retry leaves the zone")
        #expect(send(3, to: &state) { _ in true } == [1, 1, 1])
        #expect(Set(send(4, to: &state)) == [0, 2])
        #expect(send(1, to: &state, at: .seconds(10)) == [1])
        var elsewhere = try Self.state(endpoints, zone: "nowhere")
        #expect(Set(send(3, to: &elsewhere)) == [0, 1, 2])
    }

    // MARK: Ejection

    @Test("failures in a row eject an endpoint, and a success resets their number")
    func consecutive() throws {
        var state = try Self.state(["a", "b"], .failover)
        _ = send(2, to: &state) { _ in true }
        _ = send(1, to: &state)
        #expect(send(2, to: &state) { _ in true } == [0, 0])
        #expect(send(2, to: &state) { _ in nil } == [0, 0], "no outcome says nothing")
        #expect(state.members(at: .zero)[0].ejectedFor == nil)
        #expect(send(1, to: &state) { _ in true } == [0])
        #expect(state.members(at: .seconds(4))[0].ejectedFor == .seconds(6))
    }

    @Test("too large a share of failures ejects an endpoint")
    func share() throws {
        var rule = EndpointGroup.Ejection(consecutiveFailures: 100, failureRate: 0.5, minimumCalls: 6)
        rule.window = .count(10)
        var state = try Self.state(["a", "b"], .failover, ejection: rule)
        var results = [false, true, false, true, true, true].makeIterator()
        #expect(send(6, to: &state) { _ in results.next() } == [0, 0, 0, 0, 0, 0])
        #expect(send(1, to: &state) == [1])
        rule.window = .count(2)
        var small = try Self.state(["a", "b"], .failover, ejection: rule)
        #expect(send(3, to: &small) { $0 == 0 } == [0, 0, 1], "a full window is enough")
    }

    @Test("one trial request finds out whether an ejected endpoint works again")
    func trial() throws {
        var state = try Self.state(["a", "b"], .failover)
        var random = SplitMix(seed: 1)
        _ = send(3, to: &state) { _ in true }
        let trial = state.choose(at: .seconds(10), using: &random)
        #expect(trial.index == 0 && trial.isTrial)
        #expect(send(2, to: &state, at: .seconds(10)) == [1, 1], "nobody else before its end")
        state.finish(trial, isFailure: false, at: .seconds(11))
        #expect(send(2, to: &state, at: .seconds(11)) == [0, 0])
        #expect(state.members(at: .seconds(11))[0].ejectedFor == nil)
    }

    @Test("a failed trial doubles the ejection time up to the longest, and a calm period resets it")
    func growth() throws {
        var state = try Self.state(["a", "b"], .failover)
        var now = Duration.zero
        _ = send(3, to: &state) { _ in true }
        for expected in [10, 20, 40, 40] {
            #expect(state.members(at: now)[0].ejectedFor == .seconds(expected))
            #expect(send(1, to: &state, at: now + .seconds(expected) - .nanoseconds(1)) == [1])
            now += .seconds(expected)
            #expect(send(1, to: &state, at: now) { _ in true } == [0])
        }
        now += .seconds(40)
        #expect(send(4, to: &state, at: now) == [0, 0, 0, 0])
        _ = send(3, to: &state, at: now + .seconds(39)) { _ in true }
        #expect(state.members(at: now + .seconds(39))[0].ejectedFor == .seconds(40), "not calm yet")
        now += .seconds(79)
        #expect(send(1, to: &state, at: now) == [0])
        _ = send(3, to: &state, at: now + .seconds(40)) { _ in true }
        #expect(state.members(at: now + .seconds(40))[0].ejectedFor == .seconds(10))
    }

    @Test("a trial without an outcome or without an end is followed by another one")
    func lostTrials() throws {
        var state = try Self.state(["a", "b"], .failover)
        var random = SplitMix(seed: 1)
        _ = send(3, to: &state) { _ in true }
        let cancelled = state.choose(at: .seconds(10), using: &random)
        state.finish(cancelled, isFailure: nil, at: .seconds(11))
        let endless = state.choose(at: .seconds(11), using: &random)
        #expect(cancelled.isTrial && endless.isTrial && endless.index == 0)
        #expect(send(1, to: &state, at: .seconds(20)) == [1])
        let next = state.choose(at: .seconds(21), using: &random)
        #expect(next.isTrial && next.index == 0)
        state.finish(endless, isFailure: false, at: .seconds(22))
        #expect(state.members(at: .seconds(22))[0].ejectedFor == nil)
        state.finish(next, isFailure: true, at: .seconds(23))
        #expect(send(1, to: &state, at: .seconds(23)) == [0], "one of an earlier time does not count")
        #expect(state.members(at: .seconds(23))[0].outstanding == 0)
    }

    @Test("a time before an earlier one counts as the earlier one, and a jump ahead ends ejections once")
    func timeJumps() throws {
        let hour = Duration.seconds(3_600)
        var state = try Self.state(["a", "b"], .failover)
        #expect(send(1, to: &state, at: hour) == [0])
        #expect(send(4, to: &state, at: .zero) { $0 == 0 } == [0, 0, 0, 1])
        #expect(state.members(at: .zero)[0].ejectedFor == .seconds(10))
        #expect(send(1, to: &state, at: hour + .milliseconds(9_999)) == [1])
        #expect(send(1, to: &state, at: .zero) == [1])
        var random = SplitMix(seed: 1)
        let trial = state.choose(at: hour * 2, using: &random)
        #expect(trial.isTrial && trial.index == 0)
        #expect(send(2, to: &state, at: .zero) == [1, 1], "one trial at a time")
        state.finish(trial, isFailure: true, at: hour)
        #expect(state.members(at: .zero)[0].ejectedFor == .seconds(20))
        #expect(send(1, to: &state, at: hour * 2 + .seconds(20)) == [0])
    }

    @Test("endpoints are chosen as if times that jump back had stood still", arguments: 0..<50 as Range<UInt64>)
    func timesThatJumpBack(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let rule = Self.rule(share: 0.7)
        var jumping = try Self.state(["a", "b", "c"], .leastOutstanding, ejection: rule)
        var steady = jumping
        var clock = JumpingClock()
        var flying: [Choice] = []
        for _ in 0..<500 {
            clock.advance(using: &random)
            let isBegin = flying.isEmpty || Bool.random(using: &random)
            if isBegin {
                var same = random
                let choice = jumping.choose(at: clock.now, using: &random)
                #expect(choice == steady.choose(at: clock.latest, using: &same))
                flying.append(choice)
            } else {
                let choice = flying.remove(at: .random(in: 0..<flying.count, using: &random))
                let isFailure = Bool.random(using: &random)
                jumping.finish(choice, isFailure: isFailure, at: clock.now)
                steady.finish(choice, isFailure: isFailure, at: clock.latest)
            }
            let members = jumping.members(at: clock.now)
            #expect(members.map(\.ejectedFor) == steady.members(at: clock.latest).map(\.ejectedFor))
            #expect(members.allSatisfy { $0.ejectedFor ?? .zero <= .seconds(40) })
        }
    }

    @Test("outcomes of requests that were sent before an ejection are ignored after it")
    func stragglers() throws {
        var state = try Self.state(["a", "b"], .failover)
        var random = SplitMix(seed: 1)
        let early = (0..<6).map { _ in state.choose(at: .zero, using: &random) }
        for choice in early[..<3] { state.finish(choice, isFailure: true, at: .zero) }
        state.finish(early[3], isFailure: false, at: .zero)
        #expect(send(1, to: &state) == [1], "still ejected")
        for choice in early[4...] { state.finish(choice, isFailure: true, at: .zero) }
        #expect(state.members(at: .zero)[0].ejectedFor == .seconds(10))
        #expect(state.members(at: .zero)[0].outstanding == 0)
    }

    @Test("if all endpoints are ejected, all are used, and a success ends the ejection of one")
    func allEjected() throws {
        var state = try Self.state(["a", "b", "c"], ejection: Self.rule(share: 1))
        #expect(send(9, to: &state) { _ in true }.count == 9)
        #expect(state.members(at: .zero).allSatisfy { $0.ejectedFor == .seconds(10) })
        #expect(Set(send(30, to: &state) { _ in true }) == [0, 1, 2])
        #expect(state.members(at: .zero).allSatisfy { $0.ejectedFor == .seconds(10) }, "these were no trials")
        #expect(Set(send(30, to: &state, avoiding: [1]) { _ in nil }) == [0, 2])
        let back = send(1, to: &state)
        #expect(send(3, to: &state) == [back[0], back[0], back[0]])
    }

    @Test("no more endpoints are ejected than the maximum share", arguments: [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
    func maximumShare(count: Int, ejected: Int) throws {
        var state = try Self.state((0..<count).map { _ in "x" })
        _ = send(10 * count, to: &state) { _ in true }
        #expect(state.members(at: .zero).count { $0.ejectedFor != nil } == ejected)
        for share in [0, -1, .nan] as [Double] {
            var never = try Self.state((0..<count).map { _ in "x" }, ejection: Self.rule(share: share))
            _ = send(10 * count, to: &never) { _ in true }
            #expect(never.members(at: .zero).allSatisfy { $0.ejectedFor == nil })
        }
        var off = try Self.state((0..<count).map { _ in "x" }, ejection: nil)
        _ = send(10 * count, to: &off) { _ in true }
        #expect(off.members(at: .zero).allSatisfy { $0.ejectedFor == nil })
    }

    @Test("huge times and shares are bounded")
    func bounds() throws {
        var rule = Self.rule(share: .infinity)
        (rule.time, rule.longestTime) = (.seconds(Int64.max), .seconds(Int64.max))
        (rule.minimumCalls, rule.consecutiveFailures) = (.min, .min)
        var state = try Self.state(["a", "b"], ejection: rule)
        for year in 0..<5 { _ = send(8, to: &state, at: .seconds(year * 400 * 86_400)) { _ in true } }
        #expect(state.members(at: .zero).allSatisfy { $0.ejectedFor ?? .zero <= .seconds(365 * 86_400) })
        rule.time = .seconds(-1)
        var negative = try Self.state(["a", "b"], ejection: rule)
        #expect(send(8, to: &negative) { _ in true }.count == 8)
    }

    // MARK: Everything at once

    @Test(
        "random sequences of events lose no request, use no ejected endpoint and keep the maximum share",
        arguments: 0..<150 as Range<UInt64>)
    func anything(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let count = Int.random(in: 1...6, using: &random)
        let share = Double.random(in: 0...1, using: &random)
        let strategies: [EndpointGroup.Strategy] = [.failover, .roundRobin, .leastOutstanding]
        let strategy = try #require(strategies.randomElement(using: &random))
        let endpoints = (0..<count).map { _ in
            Endpoint(
                "x", weight: .random(in: 1...3, using: &random), zone: Bool.random(using: &random) ? "near" : "far")
        }
        let zone = Bool.random(using: &random) ? "near" : nil
        var rule = Self.rule(share: share)
        (rule.time, rule.longestTime) = (.milliseconds(20), .milliseconds(100))
        var state = try Self.state(endpoints, strategy, zone: zone, ejection: rule)
        let most = Int((share * Double(count)).rounded())
        var flying: [Choice] = []
        var now = Duration.zero
        for _ in 0..<2_000 {
            now += .microseconds(Int.random(in: 0...3_000, using: &random))
            let before = state.members(at: now)
            func rests(_ index: Int) -> Bool { before[index].ejectedFor ?? .zero > .zero }
            if Bool.random(using: &random) || flying.isEmpty {
                let failed = Set((0..<count).filter { _ in Int.random(in: 0..<4, using: &random) == 0 })
                let choice = state.choose(avoiding: failed, at: now, using: &random)
                let available = (0..<count).filter { !rests($0) }
                let usable = available.isEmpty ? Array(0..<count) : available
                #expect(usable.contains(choice.index), "an ejected endpoint gets nothing")
                let fresh = usable.filter { !failed.contains($0) }
                #expect(fresh.isEmpty || fresh.contains(choice.index), "one that has failed is avoided")
                let local = (fresh.isEmpty ? usable : fresh).filter { endpoints[$0].zone == zone }
                #expect(zone == nil || local.isEmpty || local.contains(choice.index), "the zone is preferred")
                #expect(!choice.isTrial || before[choice.index].ejectedFor == .zero)
                flying.append(choice)
            } else {
                let choice = flying.remove(at: .random(in: 0..<flying.count, using: &random))
                // Endpoints with even numbers fail most of the time, the others rarely.
                let isBad = choice.index.isMultiple(of: 2)
                let isFailure = Int.random(in: 0..<10, using: &random) < (isBad ? 8 : 1)
                state.finish(choice, isFailure: Int.random(in: 0..<8, using: &random) == 0 ? nil : isFailure, at: now)
            }
            let after = state.members(at: now)
            #expect(after.count { $0.ejectedFor ?? .zero > .zero } <= most)
            #expect(after.map(\.outstanding) == (0..<count).map { index in flying.count { $0.index == index } })
        }
        for choice in flying { state.finish(choice, isFailure: nil, at: now) }
        #expect(state.members(at: now).allSatisfy { $0.outstanding == 0 })
        // Every ejected endpoint is used again once its server has recovered.
        now += .milliseconds(100)
        for _ in 0..<(50 * count) {
            now += .milliseconds(1)
            let failed = Set((0..<count).filter { state.members(at: now)[$0].ejectedFor == nil })
            let choice = state.choose(avoiding: failed, at: now, using: &random)
            state.finish(choice, isFailure: false, at: now)
        }
        #expect(state.members(at: now).allSatisfy { $0.ejectedFor == nil })
    }
}
