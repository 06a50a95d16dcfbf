internal import CurlewCore
internal import Foundation

/// Simulates the scenarios with their stacks, and prints one line of JSON for each. `scripts/bench-simulation` makes
/// tables and pictures of the lines.
@main
struct Program {
    static func main() throws {
        let parts = [Stack.none, .budget, .breaker, .budgetAndBreaker, .adaptive, .standard]
        for (scenario, stacks) in [
            (Scenario.calm(clients: 1), [Stack.none, .adaptive, .standard]), (.herd(), parts), (.slow(), parts),
            (.dead(), parts),
            (
                .replica(),
                [
                    .none, .roundRobin, .roundRobinWithEjection, .leastOutstanding, .leastOutstandingWithEjection,
                ]
            ), (.quota(), [.none, .serversWord, .adaptive, .standard]),
        ] {
            for stack in stacks { try show(scenario, stack, isSeries: false) }
        }
        for clients in [1, 10, 100, 1_000, 10_000] {
            for stack in [Stack.none, .budget, .smallBudget, .breaker, .adaptive, .standard] {
                try show(.herd(clients: clients), stack, isSeries: true)
            }
        }
    }

    private static func show(_ scenario: Scenario, _ stack: Stack, isSeries: Bool) throws {
        let summary = Summary(Simulation.run(scenario, stack), isSeries: isSeries)
        print(String(decoding: try JSONEncoder().encode(summary), as: UTF8.self))
        fflush(nil)
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
    /// The share of sent attempts that the server did not accept, and of served requests that nobody waited for.
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
        attempts = Double(report.sent) / Double(max(report.ended.count, 1))
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
