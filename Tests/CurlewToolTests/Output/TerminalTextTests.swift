import CurlewCore
import Foundation
import Testing

@testable import CurlewTool

@Suite("Text from servers on a terminal")
struct TerminalTextTests {
    static let rows: [(input: [UInt8], output: String)] = [
        (Array("plain\ttext\n".utf8), "plain\ttext\n"),
        (Array("a\r\nb".utf8), "a\nb"),
        (Array("a\rb".utf8), "a\\x0db"),
        (Array("a\r".utf8), "a\\x0d"),
        (Array("\u{1B}[31mred\u{7}\u{8}".utf8), "\\x1b[31mred\\x07\\x08"),
        (Array("\u{7F}".utf8), "\\x7f"),
        (Array("é漢😀".utf8), "é漢😀"),
        (Array("\u{9B}31m".utf8), "\\u{9b}31m"),
        (Array("a\u{202E}b\u{2066}".utf8), "a\\u{202e}b\\u{2066}"),
        ([0xFF, 0x41], "\\xffA"),
        ([0x9B, 0x41], "\\x9bA"),
        ([0xC3], "\\xc3"),
        ([0xC3, 0x41], "\\xc3A"),
        ([0xE2, 0x82, 0x41], "\\xe2\\x82A"),
        ([0xC0, 0xAF], "\\xc0\\xaf"),
        ([0xE0, 0x80, 0xAF], "\\xe0\\x80\\xaf"),
        ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"),
        ([0xF4, 0x90, 0x80, 0x80], "\\xf4\\x90\\x80\\x80"),
        ([0xC3, 0xC3, 0xA9], "\\xc3é"),
    ]

    @Test("control characters and invalid UTF-8 are escaped, however the input is split", arguments: rows.indices)
    func escapes(_ index: Int) {
        let row = Self.rows[index]
        for split in 0...row.input.count {
            var filter = TerminalText()
            var out: [UInt8] = []
            filter.feed(row.input[..<split], into: &out)
            filter.feed(row.input[split...], into: &out)
            filter.finish(into: &out)
            #expect(String(decoding: out, as: UTF8.self) == row.output, "split at \(split)")
        }
    }

    @Test func terminalTextHasNoControlCharacters() {
        var out: [UInt8] = []
        var filter = TerminalText()
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max { filter.feed([first, second], into: &out) }
        }
        filter.finish(into: &out)
        #expect(String(validating: out, as: UTF8.self) != nil)
        #expect(
            String(decoding: out, as: UTF8.self).unicodeScalars.allSatisfy {
                $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control
            })
    }
}

@Suite("Formatting of bodies for the output")
struct BodyFormatterTests {
    private func shown(_ body: [UInt8], type: String?, isTerminal: Bool, pretty: Pretty) -> String {
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: type), target: .init(isTerminal: isTerminal, pretty: pretty))
        var out: [UInt8] = []
        formatter.feed(body, into: &out)
        formatter.finish(into: &out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test func bytesArriveUnchangedInAPipe() {
        let body: [UInt8] = [0x7B, 0x7D, 0x00, 0xFF, 0x1B, 0x0D]
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: "application/json; charset=latin1"),
            target: .init(isTerminal: false, pretty: .none))
        var out: [UInt8] = []
        formatter.feed(body, into: &out)
        formatter.finish(into: &out)
        #expect(out == body)
    }

    @Test func formatsAndEndsTheLineOnATerminal() {
        #expect(shown(Array("{}".utf8), type: "application/json", isTerminal: true, pretty: .format) == "{}\n")
        #expect(shown(Array("hi".utf8), type: "text/plain", isTerminal: true, pretty: .all) == "hi\n")
        #expect(shown(Array("hi\n".utf8), type: "text/plain", isTerminal: true, pretty: .all) == "hi\n")
        #expect(shown([], type: nil, isTerminal: true, pretty: .all) == "")
        #expect(shown(Array("12".utf8), type: "application/json", isTerminal: true, pretty: .format) == "12\n")
        #expect(
            shown(Array("[1]".utf8), type: "application/problem+json", isTerminal: false, pretty: .format)
                == "[\n    1\n]")
    }

    @Test func escapesEvenInsideJSON() {
        let body = Array("{\"a\":\"\u{1B}[2J\"}".utf8)
        let text = shown(body, type: "application/json", isTerminal: true, pretty: .format)
        #expect(text == "{\n    \"a\": \"\\x1b[2J\"\n}\n")
    }

    @Test func hidesBinaryData() {
        let notice = BinaryNotice.response + "\n"
        #expect(shown([0x89, 0x50, 0, 1], type: "image/png", isTerminal: true, pretty: .all) == notice)
        #expect(shown([0x89, 0x50, 0, 1], type: nil, isTerminal: true, pretty: .none) == notice)
    }

    @Test func decodesOldCharsets() {
        let body: [UInt8] = [0x63, 0xE9, 0x80]
        #expect(shown(body, type: "text/plain; charset=ISO-8859-1", isTerminal: true, pretty: .none) == "cé€\n")
    }

    @Test func colorsEventStreams() {
        let body = Array(": hi\ndata: 1\n\n".utf8)
        let text = shown(body, type: "text/event-stream", isTerminal: true, pretty: .all)
        #expect(text == "\u{1B}[90m: hi\u{1B}[0m\n\u{1B}[1;34mdata\u{1B}[0m: 1\n\n")
    }

    @Test(
        arguments: [
            ("application/json", .json, nil), ("Application/JSON; Charset=\"UTF-8\"", .json, "utf-8"),
            ("a/b+json", .json, nil),
            ("application/x-ndjson", .lines, nil), ("text/event-stream", .events, nil), (nil, .other, nil),
            ("", .other, nil),
            ("text/html;charset=latin1", .html, "latin1"), ("text/html;charset=", .html, nil),
            ("image/svg+xml", .xml, nil), ("text/plain", .text, nil), ("image/png", .other, nil),
        ] as [(String?, MediaKind.Format, String?)])
    func readsContentTypes(_ type: String?, _ format: MediaKind.Format, _ charset: String?) {
        let kind = MediaKind(contentType: type)
        #expect(kind.format == format)
        #expect(kind.charset == charset)
    }
}

@Suite("Heads and charts")
struct HeadAndChartTests {
    @Test func printsHeads() {
        let printer = HeadPrinter(palette: Palette(isColored: false), isTerminal: true)
        let head = RequestHead(method: "GET", target: "/x", headers: [HeaderField("Host", "a")])
        #expect(printer.request(head) == "GET /x HTTP/1.1\nHost: a\n")
        let response = printer.response(
            version: "HTTP/1.1", status: 200, reason: "O\u{1B}K", headers: [HeaderField("X", "\u{1B}]0;t\u{7}")])
        #expect(response == "HTTP/1.1 200 O\\x1bK\nX: \\x1b]0;t\\x07\n")
        #expect(printer.response(version: "HTTP/2", status: 204, reason: "", headers: []) == "HTTP/2 204\n")
    }

    @Test func colorsByStatus() {
        let printer = HeadPrinter(palette: Palette(isColored: true), isTerminal: false)
        #expect(
            printer.response(version: "HTTP/2", status: 404, reason: "", headers: []).contains(
                "\u{1B}[1;31m404\u{1B}[0m"))
        #expect(
            printer.response(version: "HTTP/2", status: 200, reason: "", headers: []).contains(
                "\u{1B}[1;32m200\u{1B}[0m"))
    }

    @Test func drawsTimings() {
        func date(_ milliseconds: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(milliseconds) / 1000) }
        var timing = TransferMetrics(queued: date(0), ended: date(1000))
        (timing.nameLookupEnded, timing.connected) = (date(100), date(200))
        (timing.requestSent, timing.firstByte) = (date(200), date(700))
        let chart = TimingChart(palette: Palette(isColored: false), hasUnicode: false).render(timing, width: 44)
        #expect(
            chart == """
                  lookup   ##.................. 100 ms
                  connect  ..##................ 100 ms
                  send     ....#............... 0 µs
                  wait     ....##########...... 500 ms
                  receive  ..............###### 300 ms
                  total                         1.00 s

                """)
    }
}
