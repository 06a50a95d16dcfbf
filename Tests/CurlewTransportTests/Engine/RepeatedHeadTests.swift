import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// A head whose lines are compared with the last head must give the events of a head that is parsed line by line.
@Suite("Repeated heads")
struct RepeatedHeadTests {
    /// The state that a handle keeps from response to response.
    private struct Handle {
        var last = RepeatedHead()
        /// The number of heads that were not parsed.
        var repeated = 0

        /// Describes an event that ends a head; `nil` for other events. They cannot be compared, because a repeated
        /// head reports its status line late or not at all.
        static func text(of event: HeadCollector.Event) -> String? {
            switch event {
            case .none, .started: nil
            case .informational, .head, .malformed: "\(event)"
            }
        }

        mutating func receive(_ lines: [String]) -> ([String], HeadCollector) {
            var collector = HeadCollector()
            var events: [String] = []
            last.restart()
            for var line in lines {
                line.withUTF8 { bytes in
                    let line = UnsafeRawBufferPointer(bytes)
                    switch last.compare(line) {
                    case .equalAtStart, .equalSoFar: break
                    case .equal:
                        repeated += 1
                        collector.use(last.head, size: last.size)
                        events.append("\(HeadCollector.Event.head(last.head))")
                    case .different:
                        let event = collector.parse(line, unlike: &last)
                        if let text = Self.text(of: event) { events.append(text) }
                    }
                }
            }
            return (events, collector)
        }
    }

    private func expected(_ lines: [String]) -> ([String], HeadCollector) {
        var collector = HeadCollector()
        var events: [String] = []
        for var line in lines {
            let event = line.withUTF8 { collector.parse(UnsafeRawBufferPointer($0)) }
            if let text = Handle.text(of: event) { events.append(text) }
        }
        return (events, collector)
    }

    private func check(_ handle: inout Handle, _ lines: [String], _ location: SourceLocation = #_sourceLocation) {
        let (events, repeated) = handle.receive(lines)
        let (wanted, plainly) = expected(lines)
        var (collector, plain) = (repeated, plainly)
        #expect(events == wanted, sourceLocation: location)
        // Lines that equal the last head are collected only once the head is complete or differs, so the collectors of
        // an unfinished head cannot be compared.
        guard !plain.isWithinHead else { return }
        #expect(collector.size == plain.size, sourceLocation: location)
        let (trailers, plainTrailers) = (collector.takeTrailers(), plain.takeTrailers())
        #expect(trailers == plainTrailers, sourceLocation: location)
        #expect(collector.lastStatus == plain.lastStatus, sourceLocation: location)
        #expect(!collector.isWithinHead, sourceLocation: location)
    }

    private func head(_ status: String, _ fields: String...) -> [String] {
        ["HTTP/1.1 \(status)\r\n"] + fields.map { $0 + "\r\n" } + ["\r\n"]
    }

    @Test func repeatedHeadIsNotParsedAgain() {
        var handle = Handle()
        for _ in 0..<10 { check(&handle, head("200 OK", "A: 1", "Date: Sun, 06 Nov 1994 08:49:37 GMT")) }
        #expect(handle.repeated == 9)
    }

    /// The version in a status line is checked before any other line arrives.
    @Test func repeatedStatusLineIsReportedAtOnce() {
        var handle = Handle()
        check(&handle, head("200 OK", "A: 1"))
        handle.last.restart()
        let found = head("200 OK", "A: 1").map { line in
            var line = line
            return line.withUTF8 { handle.last.compare(UnsafeRawBufferPointer($0)) }
        }
        #expect(found == [.equalAtStart, .equalSoFar, .equal])
    }

    @Test func headThatDiffersFromThePreviousOneIsParsed() {
        let heads = [
            head("200 OK", "A: 1", "B: 2", "C: 3"), head("200 OK", "A: 1", "B: 2", "C: 4"),
            head("200 OK", "A: 1", "B: 3", "C: 3"), head("200 OK", "A: 1", "B: 2"), head("200 OK"),
            head("200 OK", "A: 1", "B: 2", "C: 3", "D: 4"), head("201 OK", "A: 1", "B: 2", "C: 3"),
            head("200 OK", "A: 1", " folded", "B: 2"), head("200 OK", "A: 1", "no colon", "B: 2"),
            head("200 OK", "A: 11", "B: 2", "C: 3"), head("200 OK", "A: 1", "HTTP/1.1 200 OK", "B: 2"),
            head("100 Continue") + head("200 OK", "A: 1"), head("103 Early", "A: 1") + head("200 OK", "A: 1"),
            head("401 No", "A: 1") + head("200 OK", "A: 1", "B: 2", "C: 3"),
            head("200 OK", "A: 1", "B: 2", "C: 3") + head("200 OK", "A: 1", "B: 2", "C: 3"),
            head("200 OK", "A: 1") + ["X-Sum: 1\r\n", "\r\n"], head("200 OK", "A: 1") + ["HTTP/1.1 200 OK\r\n"],
            ["HTTP/1.1 200 OK\n", "A: 1\n", "\n"], ["HTTP/1.1 200 OK\r\n", "A: 1"], ["HTTP/1.1 200 OK\r\n"],
            ["garbage\r\n"], ["HTTP/1.1 200 OK\r\n", "A: 1\r\n"], head("204 ", "A: 1"), [],
            head("200 OK", "A: 1\nB: 2"), head("200 OK", "A: 1", "B: 2\n"),
            head("200 OK", "Long: " + String(repeating: "x", count: 5_000), "B: 2"),
        ]
        for first in heads {
            for second in heads {
                // Tries each head after itself, after another head, and twice after another head.
                var handle = Handle()
                for lines in [first, first, second, first, second, second, first] { check(&handle, lines) }
            }
        }
    }

    /// After a few heads that differ, a number of heads is not compared. Comparing resumes by itself and finds that
    /// heads repeat.
    @Test func comparingHeadsPausesIfTheyKeepDiffering() {
        var handle = Handle()
        for number in 0..<100 { check(&handle, head("200 OK", "A: 1", "Number: \(number)")) }
        #expect(handle.repeated == 0)
        for _ in 0..<100 { check(&handle, head("200 OK", "A: 1")) }
        #expect(handle.repeated > 60)
    }

    @Test func randomSequencesOfHeadsAreParsedCorrectly() {
        var handle = Handle()
        var random = SplitMix(seed: 7)
        for _ in 0..<3_000 {
            var lines: [String] = []
            for _ in 0...Int.random(in: 0...1, using: &random) {
                lines.append("HTTP/1.1 \([100, 200, 200, 200, 401].randomElement(using: &random) ?? 200) OK\r\n")
                for field in ["A: 1", "B: 2", "Content-Length: 3", "D: 4"]
                where Int.random(in: 0..<9, using: &random) > 0 {
                    let value = Int.random(in: 0..<12, using: &random) == 0 ? field + "5" : field
                    lines.append(value + "\r\n")
                }
                if Int.random(in: 0..<20, using: &random) > 0 { lines.append("\r\n") }
            }
            if Int.random(in: 0..<9, using: &random) == 0 { lines += ["X-Sum: 1\r\n", "\r\n"] }
            check(&handle, lines)
        }
        #expect(handle.repeated > 50)
    }
}
