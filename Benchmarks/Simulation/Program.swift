internal import CurlewCore

@main
struct Program {
    static func main() {
        func ms(_ d: Duration?) -> String { d.map { String(Int($0 / .milliseconds(1))) } ?? "-" }
        for clients in [1,10] {
        for scenario in [Scenario.herd(clients: clients), .slow(clients: clients), .dead(clients: clients), .quota(clients: clients)] {
            for stack in [Stack.none, .budget, .breaker, .budgetAndBreaker, .adaptive, .quota, .standard] {
                let r = Simulation.run(scenario, stack)
                let all = Duration.zero..<scenario.length
                let t = scenario.upstream.phases.first?.times ?? (.seconds(10)..<(.seconds(20)))
                func pc(_ d: Double) -> String { String(Double(Int(d*1000))/10)}
                print(clients, scenario.name, stack.name, "good", pc(r.goodput(in: all)), "during", pc(r.goodput(in: t)), "high", pc(r.goodput(in: t, .high)), "resp50", ms(r.response(0.5, in: t)), "99", ms(r.response(0.99, in: t)), "ok50", ms(r.outcome(0.5, in: t, isSuccess: true)), "99", ms(r.outcome(0.99, in: t, isSuccess: true)), "fail50", ms(r.outcome(0.5, in: t, isSuccess: false)), "sent", r.sent, "unacc", r.unaccepted, "vain", pc(Double(r.inVain) / Double(r.served)), "rec", ms(r.recovery), separator: " ")
            }
        }}
    }
}
