internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// FastJSONDecoder beside JSONDecoder: `bench-json decode size=100000` prints CPU seconds for each document,
/// `bench-json peak size=5000000 side=fast` the process's peak memory in KiB.
@main
struct Main {
    static func main() {
        runScenario("bench-json") { arguments in
            switch arguments.scenario {
            case "decode": try decode(arguments)
            case "peak": try peak(arguments)
            default: throw Arguments.Missing("decode or peak")
            }
        }
    }

    private static func document(_ size: Int) throws -> Data {
        let encoder = JSONEncoder()
        let sample = try encoder.encode((1...20).map(Person.init)).count / 20
        return try encoder.encode((1...max(size / sample, 1)).map(Person.init))
    }

    private static func decode(_ arguments: Arguments) throws -> Figures {
        let data = try document(arguments.number("size", or: 100_000))
        let turns = max(1, 20_000_000 / data.count)
        var figures: Figures = ["bytes": [Double(data.count)]]
        for _ in 0..<arguments.number("rounds", or: 5) {
            try measure("fast", FastJSONDecoder(), data, turns, &figures)
            try measure("foundation", JSONDecoder(), data, max(1, turns / 4), &figures)
        }
        return figures
    }

    private static func measure(
        _ name: String,
        _ decoder: some DataDecoder,
        _ data: Data,
        _ turns: Int,
        _ figures: inout Figures
    ) throws {
        let stopwatch = Stopwatch()
        var count = 0
        for _ in 0..<turns { count += try decoder.decode([Person].self, from: data).count }
        let cpu = stopwatch.cpu
        guard count > 0 else { throw Arguments.Missing("persons") }
        figures[name, default: []].append(cpu / Double(turns))
    }

    /// The file is written by another process, so that the peak is the decoding's own.
    private static func peak(_ arguments: Arguments) throws -> Figures {
        let file = URL(fileURLWithPath: try arguments.text("file"))
        guard let side = arguments["side"] else {
            try document(arguments.number("size", or: 5_000_000)).write(to: file)
            return [:]
        }
        let data = try Data(contentsOf: file)
        let decoder: any DataDecoder = side == "fast" ? FastJSONDecoder() : JSONDecoder()
        let people = try decoder.decode([Person].self, from: data)
        return ["people": [Double(people.count)], "peak": [Double(ProcessFigures.status("VmHWM"))]]
    }
}
