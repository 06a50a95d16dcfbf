internal import CurlewCore
internal import ResilienceSimulation
internal import Testing

/// Smaller versions of the simulations that `make bench-simulation` runs. Time and random numbers are simulated, so the
/// results are the same in every run.
@Suite("Simulated overload", .timeLimit(.minutes(4)))
struct SimulationTests {
    /// Returns a scenario with a tenth of the calls, in 50 s.
    private static func small(_ scenario: Scenario) -> Scenario {
        var small = scenario.scaled(by: 0.1)
        small.length = .seconds(50)
        return small
    }

    @Test("after a herd, a breaker with a budget lets the server recover; without them it does not")
    func herd() throws {
        let scenario = Self.small(.herd(clients: 2))
        let without = Simulation.run(scenario, .none)
        #expect(without.recovery == nil)
        #expect(Double(without.inVain) > 0.8 * Double(without.served), "it works for clients that have given up")
        for stack in [Stack.budgetAndBreaker, .standard] {
            let with = Simulation.run(scenario, stack)
            #expect(try #require(with.recovery) <= .seconds(15), "\(stack.name)")
            #expect(Double(with.inVain) < 0.2 * Double(with.served), "\(stack.name)")
        }
    }

    @Test("a server that was dead recovers from the clients that waited for it, but not without limits")
    func dead() throws {
        let scenario = Self.small(.dead(clients: 2))
        let without = Simulation.run(scenario, .none)
        let with = Simulation.run(scenario, .standard)
        #expect(without.recovery == nil)
        #expect(try #require(with.recovery) <= .seconds(15))
        #expect(with.unaccepted * 10 < without.unaccepted, "attempts that nobody answers")
    }

    @Test("while a server is slow, an adaptive limit keeps response times short, and urgent calls succeed")
    func slow() throws {
        let scenario = Self.small(.slow(clients: 1))
        let without = Simulation.run(scenario, .none)
        let with = Simulation.run(scenario, .adaptive)
        let (short, long) = (with.response(0.99, in: scenario.trouble), without.response(0.99, in: scenario.trouble))
        #expect(try #require(short) * 2 < (try #require(long)))
        #expect(with.goodput(in: scenario.trouble) > without.goodput(in: scenario.trouble))
        #expect(with.goodput(in: scenario.trouble, .high) >= 0.95)
        #expect(without.goodput(in: scenario.trouble, .high) < 0.5)
        #expect(with.goodput(in: scenario.trouble, .normal) < 0.8, "so it was the order that let the others succeed")
    }

    @Test("limits do not hold back a healthy server")
    func calm() {
        // At full size, because only then it needs more places than an adaptive limit has at first.
        var scenario = Scenario.calm(clients: 1)
        scenario.length = .seconds(10)
        for stack in [Stack.adaptive, .standard] {
            #expect(Simulation.run(scenario, stack).goodput(in: scenario.all) > 0.99, "\(stack.name)")
        }
    }

    @Test("limits reduce the requests that a server with a quota refuses")
    func quota() {
        let scenario = Self.small(.quota(clients: 2))
        let without = Simulation.run(scenario, .none)
        let with = Simulation.run(scenario, .standard)
        #expect(with.unaccepted * 2 < without.unaccepted)
        #expect(with.goodput(in: scenario.all) > 0.9 * without.goodput(in: scenario.all))
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

    @Test(
        "the number of steps for a call is bounded with 1 or 10,000 clients, and every call ends",
        arguments: [1, 10_000])
    func many(clients: Int) {
        let report = Simulation.run(Self.small(.herd(clients: clients)), .standard)
        #expect(report.ended.count == report.arrived)
        // A call has at most three attempts, each with an arrival or a pause, a turn, a timeout of the queue, an end
        // and a timeout.
        #expect(report.events <= 15 * report.arrived)
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
