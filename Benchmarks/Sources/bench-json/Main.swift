internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Compares FastJSONDecoder and FastJSONEncoder with Foundation's coders.
///
/// `bench-json decode size=100000` (or `encode`) prints the CPU seconds for each document, and
/// `bench-json peak work=encode file=people.json side=fast` the process's peak memory in KiB.
@main
struct Main {
    static func main() {
        runScenario("bench-json") { arguments in
            switch arguments.scenario {
            case "decode": try decode(arguments)
            case "encode": try encode(arguments)
            case "peak": try peak(arguments)
            default: throw Arguments.Missing("decode, encode or peak")
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
        let (fast, foundation) = (FastJSONDecoder(), JSONDecoder())
        return try compare(arguments, data.count) {
            try fast.decode([Person].self, from: data).count
        } foundation: {
            try foundation.decode([Person].self, from: data).count
        }
    }

    private static func encode(_ arguments: Arguments) throws -> Figures {
        let data = try document(arguments.number("size", or: 100_000))
        let people = try FastJSONDecoder().decode([Person].self, from: data)
        let (fast, foundation) = (FastJSONEncoder(), JSONEncoder())
        return try compare(arguments, data.count) {
            try fast.encode(people).count
        } foundation: {
            try foundation.encode(people).count
        }
    }

    private static func compare(
        _ arguments: Arguments, _ size: Int, fast: () throws -> Int, foundation: () throws -> Int
    ) throws -> Figures {
        let turns = max(1, 20_000_000 / size)
        var figures: Figures = ["bytes": [Double(size)]]
        for _ in 0..<arguments.number("rounds", or: 5) {
            try measure("fast", turns, &figures, fast)
            try measure("foundation", max(1, turns / 4), &figures, foundation)
        }
        return figures
    }

    private static func measure(
        _ name: String, _ turns: Int, _ figures: inout Figures, _ body: () throws -> Int
    ) throws {
        let stopwatch = Stopwatch()
        var count = 0
        for _ in 0..<turns { count += try body() }
        let cpu = stopwatch.cpu
        guard count > 0 else { throw Arguments.Missing("persons") }
        figures[name, default: []].append(cpu / Double(turns))
    }

    /// Without `side`, writes the file. A separate process does that, so that the peak does not include the writing.
    private static func peak(_ arguments: Arguments) throws -> Figures {
        let file = URL(fileURLWithPath: try arguments.text("file"))
        guard let side = arguments["side"] else {
            try document(arguments.number("size", or: 5_000_000)).write(to: file)
            return [:]
        }
        let data = try Data(contentsOf: file)
        if arguments["work"] == "encode" { return try peak(encoding: data, isFast: side == "fast") }
        let decoder: any DataDecoder = side == "fast" ? FastJSONDecoder() : JSONDecoder()
        let people = try decoder.decode([Person].self, from: data)
        return ["people": [Double(people.count)], "peak": [Double(ProcessFigures.status("VmHWM"))]]
    }

    private static func peak(encoding data: Data, isFast: Bool) throws -> Figures {
        let people = try FastJSONDecoder().decode([Person].self, from: data)
        let text = try isFast ? FastJSONEncoder().encode(people) : JSONEncoder().encode(people)
        return ["bytes": [Double(text.count)], "peak": [Double(ProcessFigures.status("VmHWM"))]]
    }
}
