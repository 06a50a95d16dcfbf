internal import BenchmarkSupport

/// Measures WebSockets: `bench-websocket SCENARIO name=value…` prints one line of JSON.
@main
struct Main {
    static func main() {
        runScenario("bench-websocket") { arguments in
            switch arguments.scenario {
            case "echo": try await Echo(arguments).run()
            case "idle": try await Idle(arguments).run()
            case "churn": try await Churn(arguments).run()
            case "mask": Masking(arguments).run()
            default: throw Arguments.Missing("echo, idle, churn or mask")
            }
        }
    }
}
