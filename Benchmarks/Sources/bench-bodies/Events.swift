internal import BenchmarkSupport
internal import CurlewCore
internal import Foundation

/// Measures the parser of server-sent events alone, with events in memory that are cut into pieces of 64 KiB.
struct Events {
    private let count: Int
    private let rounds: Int
    private let size: Int

    init(_ arguments: Arguments) {
        count = arguments.number("count", or: 100_000)
        rounds = arguments.number("rounds", or: 3)
        size = arguments.number("size", or: 100)
    }

    func run() throws -> Figures {
        let text = String(repeating: "x", count: size)
        var bytes = Data()
        for index in 0..<count { bytes.append(contentsOf: "id: \(index)\nevent: update\ndata: \(text)\n\n".utf8) }
        var figures = Figures()
        figures["bytes"] = [Double(bytes.count)]
        for _ in 0..<rounds {
            let stopwatch = Stopwatch()
            var parser = EventStreamParser(maximumEventSize: 1 << 20)
            var found = 0
            try bytes.withUnsafeBytes { all in
                var start = 0
                while start < all.count {
                    let end = min(all.count, start + 65_536)
                    try parser.parse(UnsafeRawBufferPointer(rebasing: all[start..<end])) { event in
                        if event.data.utf8.count == size { found += 1 }
                    }
                    start = end
                }
            }
            figures.add("curlew", stopwatch)
            guard found == count else { throw Arguments.Missing("\(count - found) events") }
        }
        return figures
    }
}
