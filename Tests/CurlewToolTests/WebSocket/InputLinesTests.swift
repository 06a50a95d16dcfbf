import Testing

@testable import CurlewTool

@Suite("Lines of standard input")
struct InputLinesTests {
    private func lines(_ pieces: [[UInt8]]) -> [String] {
        var input = InputLines()
        var lines = pieces.flatMap { input.feed($0) }
        if let last = input.finish() { lines.append(last) }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func areBounded() {
        var input = InputLines(limit: 3)
        #expect(input.feed("abc".utf8).isEmpty)
        #expect(!input.isLineTooLong)
        #expect(input.feed("d".utf8).isEmpty)
        #expect(input.isLineTooLong)
        #expect(input.feed("\nabc".utf8) == [Array("abcd".utf8)])
        #expect(!input.isLineTooLong)
    }

    @Test(
        "are the same however they were cut",
        arguments: [
            ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb", ["a", "b"]), ("\n\n", ["", ""]), ("\r\n", [""]),
            ("a\rb\r\r\n", ["a\rb\r"]), ("ä\r", ["ä\r"]),
        ] as [(String, [String])])
    func cuts(text: String, expected: [String]) {
        let bytes = Array(text.utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]].map(Array.init)
                // Compares bytes, because Swift reads a carriage return and a line feed as one character.
                #expect(lines(pieces).map { Array($0.utf8) } == expected.map { Array($0.utf8) })
            }
        }
    }
}
