internal import CurlewCore
internal import ResilienceSimulation
internal import Testing

/// Smaller versions of the simulations that `make bench-simulation` runs. Time and random numbers are simulated, so the
/// results are the same in every run.
@Suite("Simulated overload", .serialized, .timeLimit(.minutes(4)))
struct SimulationTests {
    /// Returns a scenario with a tenth of the calls, in 50 s.
    private static func small(_ scenario: Scenario) -> Scenario {
        var small = scenario.scaled(by: 0.1)
        small.length = .seconds(50)
        return small
    }

    /// Runs the scenario with each stack. Expects that the server recovers within the seconds given, and not at all if
    /// they are `nil`. Returns the reports by the names of the stacks.
    @discardableResult
    private static func check(_ scenario: Scenario, _ bounds: [(Stack, Int?)]) throws -> [String: Report] {
        var reports: [String: Report] = [:]
        for (stack, bound) in bounds {
            let report = Simulation.run(scenario, stack)
            #expect(report.ended.count == report.arrived, "\(stack.name)")
            if let bound {
                let recovery = try #require(report.recovery, "\(stack.name)")
                #expect(recovery <= .seconds(bound), "\(stack.name)")
            } else {
                #expect(report.recovery == nil, "\(stack.name)")
            }
            reports[stack.name] = report
        }
        return reports
    }

    // MARK: Recovery

    @Test("after a herd, each part alone lets the server recover that limits attempts or retries, and no other")
    func herd() throws {
        let scenario = Self.small(.herd(clients: 2))
        // The server says nothing that `.server()` could follow, and has 5 workers, so that 100 places are too many.
        let reports = try Self.check(
            scenario,
            [
                (.none, nil), (.serversWord, nil), (.hedging, nil), (.fixed(50), nil),
                (.budget, 25), (.smallBudget, 20), (.breaker, 15), (.budgetAndBreaker, 15),
                (.rate(of: scenario), 5), (.fixed(5), 5), (.adaptive, 5), (.standard, 5),
            ])
        /// The share of the served requests that nobody waits for.
        func inVain(_ stack: Stack) throws -> Double {
            let report = try #require(reports[stack.name])
            return Double(report.inVain) / Double(report.served)
        }
        #expect(try inVain(.none) > 0.8)
        #expect(try inVain(.budget) < 0.6)
        #expect(try inVain(.breaker) < 0.2)
        #expect(try inVain(.adaptive) < 0.02)
        #expect(try inVain(.standard) < 0.02)
    }

    @Test("a server that was dead recovers from the clients that waited for it, but not without limits")
    func dead() throws {
        let scenario = Self.small(.dead(clients: 2))
        let reports = try Self.check(
            scenario,
            [
                (.none, nil), (.serversWord, nil), (.hedging, nil), (.fixed(50), nil), (.budget, 5), (.breaker, 10),
                (.rate(of: scenario), 5), (.fixed(5), 5), (.adaptive, 5), (.standard, 15),
            ])
        let (without, with) = (try #require(reports["none"]), try #require(reports["standard"]))
        #expect(with.unaccepted * 10 < without.unaccepted, "attempts that nobody answers")
    }

    @Test("of 10,000 clients, the server recovers with standard and sooner with a small budget, but not without them")
    func many() throws {
        var scenario = Scenario.herd(clients: 10_000)
        scenario.length = .seconds(60)
        try Self.check(scenario, [(.none, nil), (.standardWithSmallBudget, 45)])
        // Each client makes a call in 14 s, and a breaker needs 20 outcomes.
        scenario.length = .seconds(145)
        try Self.check(scenario, [(.standard, 130)])
    }

    @Test("the number of steps for a call is bounded with 1 or 10,000 clients", arguments: [1, 10_000])
    func steps(clients: Int) {
        let report = Simulation.run(Self.small(.herd(clients: clients)), .standard)
        // A call has at most three attempts, each with an arrival or a pause, a turn, a timeout of the queue, an end
        // and a timeout.
        #expect(report.events <= 15 * report.arrived)
    }

    // MARK: Latency

    @Test(
        "while a server is slow, a limit keeps response times short, and urgent calls succeed; no other part does that")
    func slow() throws {
        let scenario = Self.small(.slow(clients: 1))
        func p99(_ report: Report) throws -> Duration { try #require(report.response(0.99, in: scenario.trouble)) }
        let without = Simulation.run(scenario, .none)
        for stack in [Stack.adaptive, .fixed(5), .standard] {
            let with = Simulation.run(scenario, stack)
            #expect(try p99(with) * 2 < p99(without), "\(stack.name)")
            #expect(with.goodput(in: scenario.trouble) > 1.5 * without.goodput(in: scenario.trouble), "\(stack.name)")
            #expect(with.goodput(in: scenario.trouble, .high) >= 0.95, "\(stack.name)")
            // So it was the order that let the others succeed.
            #expect(with.goodput(in: scenario.trouble, .normal) < 0.8, "\(stack.name)")
        }
        for stack in [Stack.none, .budget, .breaker, .rate(of: scenario), .serversWord, .hedging] {
            let report = Simulation.run(scenario, stack)
            #expect(try p99(report) > scenario.timeout * 0.9, "\(stack.name)")
            #expect(report.goodput(in: scenario.trouble, .high) < 0.5, "\(stack.name)")
        }
    }

    @Test("an adaptive limit finds the number of places that a fixed one has to be given")
    func places() throws {
        let slow = Self.small(.slow(clients: 1))
        func p99(_ stack: Stack) throws -> Duration {
            try #require(Simulation.run(slow, stack).response(0.99, in: slow.trouble))
        }
        #expect(try p99(.fixed(5)) < p99(.adaptive))
        #expect(try p99(.adaptive) * 2 < p99(.fixed(50)), "too many places")
        var calm = Scenario.calm(clients: 1)
        calm.length = .seconds(10)
        // At full size, because only then it needs more places than an adaptive limit has at first.
        for stack in [Stack.adaptive, .standard] {
            #expect(Simulation.run(calm, stack).goodput(in: calm.all) > 0.99, "\(stack.name)")
        }
        #expect(Simulation.run(calm, .fixed(10)).goodput(in: calm.all) < 0.5, "too few places")
    }

    @Test("hedging shortens a server's tail, and sends no more second copies than its share")
    func tail() throws {
        var scenario = Scenario.tail(clients: 2).scaled(by: 0.2)
        scenario.length = .seconds(40)
        func p99(_ stack: Stack) throws -> Duration {
            let report = Simulation.run(scenario, stack)
            #expect(report.goodput(in: scenario.all) > 0.99, "\(stack.name)")
            return try #require(report.response(0.99, in: scenario.all))
        }
        #expect(try p99(.none) > .milliseconds(500))
        for stack in [Stack.hedging, .standardWithHedging] {
            #expect(try p99(stack) < .milliseconds(300), "\(stack.name)")
        }
        #expect(Simulation.run(scenario, .none).hedged == 0)
        // Three of four responses take longer.
        var eager = Stack.hedging
        eager.hedging = .after(.milliseconds(10))
        let report = Simulation.run(scenario, eager)
        let attempts = Double(report.sent - report.hedged)
        #expect(Double(report.hedged) <= 0.1 * attempts)
        #expect(Double(report.hedged) > 0.09 * attempts)
    }

    @Test("with limits, hedging does no harm in an overload; without a share, it keeps up a slow phase")
    func hedgedOverload() throws {
        for scenario in [Self.small(.herd(clients: 2)), Self.small(.slow(clients: 2))] {
            let (without, with) = (Simulation.run(scenario, .standard), Simulation.run(scenario, .standardWithHedging))
            #expect(with.hedged > 0, "\(scenario.name)")
            #expect(try #require(with.recovery) <= (try #require(without.recovery)) + .seconds(1), "\(scenario.name)")
            #expect(with.goodput(in: scenario.all) > without.goodput(in: scenario.all) - 0.02, "\(scenario.name)")
            let (p99, usual) = (with.response(0.99, in: scenario.trouble), without.response(0.99, in: scenario.trouble))
            #expect(try #require(p99) < (try #require(usual)) * 1.2, "\(scenario.name)")
        }
        let slow = Self.small(.slow(clients: 1))
        #expect(Simulation.run(slow, .none).recovery != nil)
        #expect(Simulation.run(slow, .unlimitedHedging).recovery == nil)
    }

    // MARK: Quotas and replicas

    @Test("a rate, and limits that hear the server, reduce the requests that a server with a quota refuses")
    func quota() {
        let scenario = Self.small(.quota(clients: 2))
        let without = Simulation.run(scenario, .none)
        func refused(_ report: Report) -> Double { Double(report.unaccepted) / Double(report.sent) }
        #expect(refused(without) > 0.5)
        for stack in [Stack.rate(of: scenario), .standard] {
            let with = Simulation.run(scenario, stack)
            #expect(with.goodput(in: scenario.all) > 0.9 * without.goodput(in: scenario.all), "\(stack.name)")
            #expect(refused(with) < (stack.name == "rate" ? 0.01 : 0.1), "\(stack.name)")
        }
        // It alone does not help, because everything that has waited is sent at once.
        #expect(refused(Simulation.run(scenario, .serversWord)) > refused(without))
    }

    @Test("with a dead replica, retries elsewhere let calls succeed, and its ejection keeps them fast")
    func replica() throws {
        let scenario = Scenario.replica(clients: 2).scaled(by: 0.2)
        func p99(_ report: Report) throws -> Duration {
            let time = report.outcome(0.99, in: scenario.trouble, isSuccess: true)
            return try #require(time)
        }
        let byChance = Simulation.run(scenario, .none)
        #expect(byChance.goodput(in: scenario.trouble) < 0.995, "some calls meet the dead replica three times")
        for (plain, ejecting) in [
            (Stack.roundRobin, Stack.roundRobinWithEjection), (.leastOutstanding, .leastOutstandingWithEjection),
        ] {
            let (without, with) = (Simulation.run(scenario, plain), Simulation.run(scenario, ejecting))
            for report in [without, with] {
                #expect(report.goodput(in: scenario.trouble) > 0.998, "\(report.stack)")
                #expect(report.ended.count == report.arrived, "\(report.stack)")
            }
            #expect(try p99(without) > scenario.timeout, "\(plain.name)")
            #expect(try p99(with) * 2 < p99(without), "\(plain.name)")
            #expect(with.unaccepted * 5 < without.unaccepted, "\(plain.name)")
        }
        let (inTurn, byLoad) = (Simulation.run(scenario, .roundRobin), Simulation.run(scenario, .leastOutstanding))
        #expect(byLoad.unaccepted * 2 < inTurn.unaccepted)
    }

    @Test("equal seeds give equal calls, and different seeds give different ones")
    func seed() {
        var scenario = Self.small(.herd(clients: 2))
        scenario.length = .seconds(20)
        let reports = [1, 1, 2].map { Simulation.run(scenario, .standard, seed: $0) }
        #expect(reports[0].ended == reports[1].ended)
        #expect(reports[0].ended != reports[2].ended)
    }
}
