internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Line splitter", .timeLimit(.minutes(4)))
struct LineSplitterTests {
    static let table: [(String, [String])] = [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("\n\n", ["", ""]),
        ("\r\n\r\nx", ["", "", "x"]),
        ("a\rb\n", ["a\rb"]),
        ("a\r", ["a\r"]),
        ("a\r\r\n", ["a\r"]),
        ("grüße 🐦\nzwei\n", ["grüße 🐦", "zwei"]),
    ]

    @Test("a text gives the same lines wherever it is split", arguments: table)
    func everySplit(text: String, expected: [String]) throws {
        let bytes = Data(text.utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                var splitter = LineSplitter(maximumLength: 100)
                var lines: [String] = []
                for chunk in [bytes[..<first], bytes[first..<second], bytes[second...]] {
                    lines += try splitter.lines(in: Data(chunk))
                }
                if let last = try splitter.last() { lines.append(String(decoding: last, as: UTF8.self)) }
                #expect(lines == expected, "cut at \(first) and \(second)")
            }
        }
    }

    @Test("a line above the maximum is refused, one at the maximum is not", arguments: 0...6)
    func limit(cut: Int) throws {
        for (text, fits) in [
            ("abcd\nx", true), ("abcd\r\n", true), ("abcde\n", false), ("abcde", false), ("abcd\r", false),
        ] {
            let bytes = Data(text.utf8)
            let middle = min(cut, bytes.count)
            var splitter = LineSplitter(maximumLength: 4)
            var code: CurlewError.Code?
            do throws(CurlewError) {
                _ = try splitter.lines(in: Data(bytes[..<middle]))
                _ = try splitter.lines(in: Data(bytes[middle...]))
                _ = try splitter.last()
            } catch { code = error.code }
            #expect(code == (fits ? nil : .limitExceeded), "\(text.debugDescription) cut at \(middle)")
        }
    }

    @Test("lines are returned one by one, and an incomplete line is kept for the next bytes")
    func oneByOne() throws {
        var splitter = LineSplitter(maximumLength: 10)
        func take(_ text: String) throws -> [String] {
            try Array(text.utf8).withUnsafeBytes { bytes in
                var (position, found) = (0, [String]())
                while let line = try splitter.next(in: bytes, from: &position) {
                    switch line {
                    case .inside(let range): found.append("inside \(range)")
                    case .joined(let line): found.append("joined " + String(decoding: line, as: UTF8.self))
                    }
                }
                #expect(position == bytes.count)
                return found
            }
        }
        #expect(try take("a\nbc\r\nd") == ["inside 0..<1", "inside 2..<4"])
        #expect(try take("ef\n\ng\r") == ["joined def", "inside 3..<3"])
        #expect(try take("\nh") == ["joined g"])
        #expect(try splitter.last() == Array("h".utf8))
        #expect(try splitter.last() == nil)
    }

    @Test("lines before one that is too long are still returned")
    func linesBeforeTheError() {
        var splitter = LineSplitter(maximumLength: 3)
        var lines: [String] = []
        #expect(throws: CurlewError.self) { try splitter.split(Data("ab\nabcdef\n".utf8)) { lines.append($0) } }
        #expect(lines == ["ab"])
    }
}

extension LineSplitter {
    /// Passes each line that ends in `chunk` to `body`, as text.
    fileprivate mutating func split(_ chunk: Data, _ body: (String) -> Void) throws(CurlewError) {
        let bytes = Array(chunk)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(CurlewError) in
                var position = 0
                while let line = try next(in: bytes, from: &position) {
                    switch line {
                    case .inside(let range): body(String(decoding: bytes[range], as: UTF8.self))
                    case .joined(let line): body(String(decoding: line, as: UTF8.self))
                    }
                }
            }
        }
        try result.get()
    }

    fileprivate mutating func lines(in chunk: Data) throws(CurlewError) -> [String] {
        var lines: [String] = []
        try split(chunk) { lines.append($0) }
        return lines
    }
}
