internal import CurlewCore
internal import Foundation

/// Simulates the scenarios with their stacks, and prints one line of JSON for each. `scripts/bench-simulation` makes
/// tables and pictures of the lines.
@main
struct Program {
    private struct Run: Sendable {
        let scenario: Scenario
        let stack: Stack
        var isSeries = false
    }

    static func main() async throws {
        let runs = tables.flatMap { scenario, stacks in stacks.map { Run(scenario: scenario, stack: $0) } } + series
        let summaries = await withTaskGroup(of: (Int, Summary).self) { group in
            for (index, run) in runs.enumerated() {
                group.addTask {
                    (index, Summary(Simulation.run(run.scenario, run.stack), isSeries: run.isSeries))
                }
            }
            var summaries: [Int: Summary] = [:]
            for await (index, summary) in group { summaries[index] = summary }
            return summaries
        }
        for (_, summary) in summaries.sorted(by: { $0.key < $1.key }) {
            print(String(decoding: try JSONEncoder().encode(summary), as: UTF8.self))
        }
    }

    private static var tables: [(Scenario, [Stack])] {
        [
            (.calm(clients: 1), [.none, .fixed(10), .adaptive, .hedging, .standard]),
            (.herd(), parts(.herd())), (.slow(), parts(.slow())), (.dead(), parts(.dead())),
            (
                .replica(),
                [
                    .none, .roundRobin, .roundRobinWithEjection, .leastOutstanding, .leastOutstandingWithEjection,
                ]
            ),
            (.tail(), [.none, .hedging, .unlimitedHedging, .standard, .standardWithHedging]),
            (.quota(), [.none, .rate(of: .quota()), .serversWord, .adaptive, .standard]),
        ]
    }

    private static func parts(_ scenario: Scenario) -> [Stack] {
        [
            .none, .budget, .breaker, .budgetAndBreaker, .rate(of: scenario), .serversWord, .fixed(10), .fixed(100),
            .adaptive, .hedging, .unlimitedHedging, .standard, .standardWithHedging,
        ]
    }

    /// The runs by the number of clients.
    private static var series: [Run] {
        [Scenario.herd, Scenario.slow].flatMap { make in
            [1, 10, 100, 1_000, 10_000].flatMap { clients in
                var scenario = make(clients)
                // Of 10,000 clients, each makes a call in 14 s. Their breakers need two minutes.
                if scenario.name == "herd" { scenario.length = .seconds(180) }
                let stacks: [Stack] = [
                    .none, .budget, .smallBudget, .breaker, .rate(of: scenario), .fixed(10), .adaptive, .hedging,
                    .standard, .standardWithSmallBudget,
                ]
                return stacks.map { [scenario] in Run(scenario: scenario, stack: $0, isSeries: true) }
            }
        }
    }
}

/// The figures of a report. Times are in seconds.
private struct Summary: Encodable {
    let scenario: String
    let clients: Int
    let stack: String
    /// Whether the run belongs to the series over numbers of clients.
    let isSeries: Bool
    /// The shares of successful calls: among all, and among those that arrived in the trouble.
    let goodput: Double
    let goodputInTrouble: Double
    let importantInTrouble: Double
    /// The latencies of the server's responses in the trouble.
    let responseMedian: Double?
    let responseP99: Double?
    /// The times until the outcome of calls that arrived in the trouble.
    let successP99: Double?
    let failureMedian: Double?
    let attempts: Double
    /// The share of attempts that were sent twice.
    let hedged: Double
    /// The share of sent requests that the server did not accept, and of served requests that nobody waited for.
    let unaccepted: Double
    let inVain: Double
    let recovery: Double?
    /// The values for each second.
    let goodputs: [Double]
    let responses: [Double?]

    init(_ report: Report, isSeries: Bool) {
        self.isSeries = isSeries
        let trouble = report.scenario.trouble
        scenario = report.scenario.name
        clients = report.scenario.clients
        stack = report.stack
        goodput = report.goodput(in: report.scenario.all)
        goodputInTrouble = report.goodput(in: trouble)
        importantInTrouble = report.goodput(in: trouble, .high)
        responseMedian = report.response(0.5, in: trouble).map { $0 / .seconds(1) }
        responseP99 = report.response(0.99, in: trouble).map { $0 / .seconds(1) }
        successP99 = report.outcome(0.99, in: trouble, isSuccess: true).map { $0 / .seconds(1) }
        failureMedian = report.outcome(0.5, in: trouble, isSuccess: false).map { $0 / .seconds(1) }
        let attempts = report.sent - report.hedged
        self.attempts = Double(attempts) / Double(max(report.ended.count, 1))
        hedged = Double(report.hedged) / Double(max(attempts, 1))
        unaccepted = Double(report.unaccepted) / Double(max(report.sent, 1))
        inVain = Double(report.inVain) / Double(max(report.served, 1))
        recovery = report.recovery.map { $0 / .seconds(1) }
        let seconds = (0..<Int(report.scenario.all.upperBound / .seconds(1))).map {
            Duration.seconds($0)..<(.seconds($0 + 1))
        }
        goodputs = seconds.map { report.goodput(in: $0) }
        responses = seconds.map { report.response(0.99, in: $0).map { $0 / .seconds(1) } }
    }
}
