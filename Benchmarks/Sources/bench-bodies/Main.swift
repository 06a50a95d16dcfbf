internal import BenchmarkSupport

/// Measures bodies, and the lines, events and values in them: `bench-bodies SCENARIO name=value…` prints one line of
/// JSON.
@main
struct Main {
    static func main() {
        runScenario("bench-bodies") { arguments in
            switch arguments.scenario {
            case "lines": try await Lines(arguments).run()
            case "document": try await Document(arguments).run()
            case "events": try Events(arguments).run()
            case "text": try await Text(arguments).run()
            case "sleeper": try await Sleeper(arguments).run()
            default: throw Arguments.Missing("lines, document, events, text or sleeper")
            }
        }
    }
}
