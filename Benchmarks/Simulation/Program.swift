internal import CurlewCore
internal import Foundation

/// Simulates every scenario with every stack, and prints one line of JSON for each: what `scripts/bench-simulation` makes
/// tables and pictures of.
@main
struct Program {
    static func main() throws {
        let parts = [Stack.none, .budget, .breaker, .budgetAndBreaker, .adaptive, .standard]
        for (scenario, stacks) in [
            (Scenario.calm(clients: 1), [Stack.none, .adaptive, .standard]), (.herd(), parts), (.slow(), parts),
            (.dead(), parts), (.quota(), [.none, .serversWord, .adaptive, .standard]),
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
    /// Whether it belongs to the series of numbers of clients.
    let isSeries: Bool
    /// Shares of the calls, of all and of those that arrived in the trouble.
    let goodput: Double
    let goodputInTrouble: Double
    let importantInTrouble: Double
    /// The server's responses in the trouble.
    let responseMedian: Double?
    let responseP99: Double?
    /// The calls that arrived in the trouble.
    let successP99: Double?
    let failureMedian: Double?
    let attempts: Double
    /// Shares of what was sent, and of what was served.
    let unaccepted: Double
    let inVain: Double
    let recovery: Double?
    /// For each second.
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
