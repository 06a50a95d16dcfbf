internal import BenchmarkSupport

/// Measures how much registered requests slow other requests down: `bench-growth SCENARIO name=value…` prints one line
/// of JSON. `scripts/bench-growth` compares the figures for few requests and for many.
@main
struct Main {
    static func main() {
        runScenario("bench-growth") { arguments in
            switch arguments.scenario {
            case "get": try await Traffic(arguments).run()
            case "cancel": try await Cancellation(arguments).run()
            case "pool": try await Pool(arguments).run()
            default: throw Arguments.Missing("get, cancel or pool")
            }
        }
    }
}
