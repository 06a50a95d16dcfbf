internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures a stream of values, one a line, and FastJSONDecoder alone with those lines in memory.
struct Lines {
    private let url: URL
    private let file: URL
    private let rounds: Int
    private let session: Session

    init(_ arguments: Arguments) throws {
        url = try arguments.url()
        file = URL(fileURLWithPath: try arguments.text("file"))
        rounds = arguments.number("rounds", or: 3)
        session = arguments.session()
    }

    func run() async throws -> Figures {
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map { Data($0) }
        var figures = Figures()
        figures["lines"] = [Double(lines.count)]
        for round in 0..<rounds {
            // The order alternates, so that neither always has the colder caches.
            if round % 2 == 0 { try alone(lines, &figures) }
            try await streamed(lines.count, &figures)
            if round % 2 == 1 { try alone(lines, &figures) }
            try await raw(lines.count, &figures)
        }
        return figures
    }

    private func alone(_ lines: [Data], _ figures: inout Figures) throws {
        let stopwatch = Stopwatch()
        let decoder = FastJSONDecoder()
        var sum = 0
        for line in lines { sum &+= try decoder.decode(Item.self, from: line).id }
        figures.add("alone", stopwatch)
        try Self.check(sum, lines.count)
    }

    private func streamed(_ count: Int, _ figures: inout Figures) async throws {
        let stopwatch = Stopwatch()
        var sum = 0
        for try await item in session.streamRequest(url).decode(Item.self) { sum &+= item.id }
        figures.add("curlew", stopwatch)
        try Self.check(sum, count)
    }

    /// Measures the stream alone: its lines are not decoded.
    private func raw(_ count: Int, _ figures: inout Figures) async throws {
        let stopwatch = Stopwatch()
        var found = 0
        for try await line in session.streamRequest(url).lines where !line.isEmpty { found += 1 }
        figures.add("lines", stopwatch)
        guard found == count else { throw Arguments.Missing("\(count - found) lines") }
    }

    private static func check(_ sum: Int, _ count: Int) throws {
        guard sum == count * (count - 1) / 2 else { throw Arguments.Missing("lines; the sum is \(sum)") }
    }
}
