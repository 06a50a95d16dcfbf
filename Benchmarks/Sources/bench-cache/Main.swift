internal import BenchmarkSupport

/// Measures the savings and the cost of a cache: `bench-cache SCENARIO name=value…` prints one line of JSON.
@main
struct Main {
    static func main() {
        runScenario("bench-cache") { arguments in
            let subject = try Subject(arguments)
            switch arguments.scenario {
            case "hits": return try await Hits(subject, arguments).run()
            case "body": return try await Bodies(subject, arguments).hits()
            case "stream": return try await Bodies(subject, arguments).stream()
            case "store": return try await Bodies(subject, arguments).storing()
            default: throw Arguments.Missing("hits, body, stream or store")
            }
        }
    }
}
