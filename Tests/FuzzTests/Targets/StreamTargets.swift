#if !FUZZING
@testable internal import CurlewCore
@testable internal import CurlewTransport
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    static let streams = [
        FuzzTarget("event-stream") { input throws(BrokenProperty) in
            let ways = FuzzInput.cuts(of: input.bytes).map { events(in: $0) }
            for way in ways.dropFirst() {
                try require(way, equals: ways[0], "events do not depend on how the stream was cut")
            }
            for event in ways[0].events {
                try require(!event.event.isEmpty && event.id != "", "a type, and an id or none")
                try require(event.data.utf8.count <= 3 * maximumSize, "an event has a bounded length")
                try require(event.retry.map { $0 >= .zero } ?? true, "a waiting time is not negative")
            }
        },
        FuzzTarget("lines") { input throws(BrokenProperty) in
            let ways = FuzzInput.cuts(of: input.bytes).map { lines(in: $0) }
            for way in ways {
                try require(way, equals: expectedLines(input.bytes), "lines are what stands between ends")
            }
        },
        FuzzTarget("response-head") { input throws(BrokenProperty) in
            _ = try heads(input.bytes)
        },
    ]

    private static let maximumSize = 200

    private struct EventRun: Equatable {
        var events: [ServerSentEvent] = []
        var lastEventID: String?
        var reconnectionTime: Duration?
        var isTooLarge = false
    }

    private static func events(in chunks: [ArraySlice<UInt8>]) -> EventRun {
        var parser = EventStreamParser(maximumEventSize: maximumSize)
        var run = EventRun()
        do {
            for chunk in chunks {
                try chunk.withUnsafeBytes { try parser.parse($0) { run.events.append($0) } }
            }
        } catch {
            run.isTooLarge = true
        }
        if !run.isTooLarge { (run.lastEventID, run.reconnectionTime) = (parser.lastEventID, parser.reconnectionTime) }
        return run
    }

    private struct LineRun: Equatable {
        var lines: [[UInt8]] = []
        var isTooLong = false
    }

    private static func lines(in chunks: [ArraySlice<UInt8>]) -> LineRun {
        var splitter = LineSplitter(maximumLength: maximumSize)
        var run = LineRun()
        do {
            for chunk in chunks {
                try chunk.withUnsafeBytes { bytes in
                    var position = 0
                    while let line = try splitter.next(in: bytes, from: &position) {
                        switch line {
                        case .inside(let range): run.lines.append(Array(bytes[range]))
                        case .joined(let line): run.lines.append(line)
                        }
                    }
                }
            }
            if let line = try splitter.last() { run.lines.append(line) }
        } catch {
            run.isTooLong = true
        }
        return run
    }

    /// Splits the lines in the simplest way, for comparison with the splitter.
    private static func expectedLines(_ bytes: [UInt8]) -> LineRun {
        var run = LineRun()
        var pieces = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
        let last = pieces.popLast() ?? []
        for piece in pieces + (last.isEmpty ? [] : [last]) {
            var line = piece
            if line.last == 0x0D, run.lines.count < pieces.count { line.removeLast() }
            guard line.count <= maximumSize else {
                run.isTooLong = true
                return run
            }
            run.lines.append(line)
        }
        return run
    }

    /// Collects the heads and fields in the lines of a response.
    private static func heads(_ bytes: [UInt8]) throws(BrokenProperty) -> [String] {
        var collector = HeadCollector()
        var found: [String] = []
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            let event = (line + [0x0A]).withUnsafeBytes { collector.parse($0) }
            switch event {
            case .none, .started: continue
            case .malformed(let reason): return found + [reason]
            case .informational(let head), .head(let head):
                try require((100...999).contains(head.status), "a status has three digits")
                for field in head.headers {
                    try require(!field.name.isEmpty && !field.value.utf8.contains(0x0A), "a field is one line")
                }
                found.append("\(head.version) \(head.status) \(head.reason) \(head.headers.map(\.description))")
            }
        }
        try require(collector.size <= bytes.count + 1, "no line is counted twice")
        return found + collector.takeTrailers().map(\.description)
    }
}
