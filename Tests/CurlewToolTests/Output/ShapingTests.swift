import CurlewTesting
import Testing
@testable import CurlewTool

/// Shapes a body whole and byte by byte, expects equal results, and returns one of them.
func shaped(
    _ body: String,
    type: String,
    pretty: Pretty = .format,
    look: Look = Look(),
    sourceLocation: SourceLocation = #_sourceLocation
) -> String {
    func run(_ pieces: [[UInt8]]) -> String {
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: type, look: look), target: .init(isTerminal: false, pretty: pretty, look: look)
        )
        var out: [UInt8] = []
        for piece in pieces { formatter.feed(piece, into: &out) }
        formatter.finish(into: &out)
        return String(decoding: out, as: UTF8.self)
    }
    let whole = run([Array(body.utf8)])
    #expect(run(body.utf8.map { [$0] }) == whole, sourceLocation: sourceLocation)
    return whole
}

@Suite("Truncated bodies")
struct CutBodyTests {
    private func onTerminal(_ body: String) -> String {
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: "application/json"), target: .init(isTerminal: true, pretty: .all))
        var out: [UInt8] = []
        for byte in body.utf8 { formatter.feed(CollectionOfOne(byte), into: &out) }
        formatter.finish(into: &out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test("colours are reset at the end of a truncated body", arguments: ["[\"cut", "{\"cut", "[\"cut\\"])
    func endsColours(_ body: String) {
        let out = onTerminal(body)
        #expect(out.hasSuffix("\u{1B}[0m\n"))
    }

    @Test func coloursAreResetBeforeBinaryNotice() {
        #expect(onTerminal("[\"a\u{0}b").hasSuffix("\"a\u{1B}[0m\n" + BinaryNotice.response + "\n"))
    }
}

@Suite("JSON that is detected in bodies")
struct FoundJSONTests {
    private func sorting() -> Look {
        var look = Look()
        look.format.sortAll(true)
        return look
    }

    @Test func formatsJSONInPlainText() {
        #expect(shaped(#"{"a":1}"#, type: "text/plain") == "{\n    \"a\": 1\n}")
        #expect(shaped(" [1]\n", type: "text/plain; charset=utf-8") == "[\n    1\n]")
        #expect(shaped(#"{"a":1}"#, type: "text/javascript") == "{\n    \"a\": 1\n}")
    }

    @Test(
        "text that only begins like JSON stays as it is",
        arguments: [
            "[2026-11-22] started", "{name} is missing", "12", "[1] see below", "{", "", "  ", "plain {\"a\":1}",
        ])
    func leavesTextAlone(_ text: String) {
        #expect(shaped(text, type: "text/plain") == text)
    }

    @Test func liveStreamIsNotBuffered() {
        var look = Look()
        look.isLive = true
        #expect(shaped(#"{"a":1}"#, type: "text/plain", look: look) == #"{"a":1}"#)
    }

    @Test func formatsTheDataOfEvents() {
        let stream = "id: 1\ndata: {\"a\":[1]}\n\ndata: word\ndata: {broken\n: c\n\n"
        #expect(
            shaped(stream, type: "text/event-stream")
                == "id: 1\ndata: {\ndata:     \"a\": [\ndata:         1\ndata:     ]\ndata: }\n\ndata: word\ndata: {broken\n: c\n\n"
        )
        #expect(shaped("data:{\"a\":1}", type: "text/event-stream") == "data: {\ndata:     \"a\": 1\ndata: }")
        #expect(shaped(stream, type: "text/event-stream", pretty: .none) == stream)
    }

    @Test func sortingKeysKeepsEverythingElse() {
        let body = #"{"b": 1.10, "a": [{"z": "\u00e9", "y": {}}], "b": 2, "É": [] }"#
        var look = sorting()
        look.format.jsonIndent = 1
        #expect(
            shaped(body, type: "application/json", look: look) == """
                {
                 "a": [
                  {
                   "y": {},
                   "z": "\\u00e9"
                  }
                 ],
                 "b": 1.10,
                 "b": 2,
                 "É": []
                }
                """)
        #expect(shaped(#"{"b":1,"a":2}"#, type: "application/json") == "{\n    \"b\": 1,\n    \"a\": 2\n}")
    }

    @Test func sortsEachDocument() {
        let lines = "{\"b\":1,\"a\":2}\n{\"d\":1,\"c\":2}\n7\n"
        let expected = "{\n    \"a\": 2,\n    \"b\": 1\n}\n{\n    \"c\": 2,\n    \"d\": 1\n}\n7"
        #expect(shaped(lines, type: "application/x-ndjson", look: sorting()) == expected)
        #expect(
            shaped("data: {\"b\":1,\"a\":2}\n\n", type: "text/event-stream", look: sorting())
                == "data: {\ndata:     \"a\": 2,\ndata:     \"b\": 1\ndata: }\n\n")
        #expect(shaped(#"{"b":1,"a":2}"#, type: "text/plain", look: sorting()) == "{\n    \"a\": 2,\n    \"b\": 1\n}")
    }

    @Test(arguments: ["{\"b\":1,", "{\"b\" 1}", "[}", "\"open", "]", "{\"a\":\"\\"])
    func invalidJSONIsNotSorted(_ text: String) {
        #expect(shaped(text, type: "application/json", look: sorting()) == shaped(text, type: "application/json"))
    }

    @Test func deepNestingDoesNotOverflowTheStack() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(JSONParser.sorted(deep.utf8) == nil)
    }

    @Test func obeysFormatOptions() {
        var look = Look()
        look.format.formatsJSON = false
        #expect(shaped(#"{"a":1}"#, type: "application/json", look: look) == #"{"a":1}"#)
        #expect(shaped(#"{"a":1}"#, type: "text/plain", look: look) == #"{"a":1}"#)
        look = Look()
        look.mediaType = "application/json"
        #expect(shaped("[]", type: "image/png", look: look) == "[]")
        #expect(shaped("[1]", type: "image/png", look: look) == "[\n    1\n]")
    }

    @Test func sortsHeaderFields() {
        let printer = HeadPrinter(palette: Palette(isColored: false), isTerminal: false, sortsFields: true)
        let fields = [HeaderField("b", "1"), HeaderField("A", "2"), HeaderField("B", "0")]
        #expect(
            printer.response(version: "HTTP/2", status: 204, reason: "", headers: fields)
                == "HTTP/2 204\nA: 2\nb: 1\nB: 0\n")
    }
}

/// Formatting changes white space and nothing else, for every body.
@Suite("Lossless formatting")
struct LosslessTests {
    private static let pieces = [
        "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "<!DOCTYPE a", "[", "]", "\"", "'", "=",
        " ",
        "\n", "a", "<a>", "</a>", "<p>", "</p>", "<pre>", "</pre>", "<script>", "</script>", "<b>", "</b>", "<br>",
        "<li>",
        "é", "{", "}", ":", ",", "1", "\"k\"", "\\", "\u{FEFF}", "data: ", "<a x=\"1\">", "xml:space=\"preserve\"",
    ]

    private func solid(_ text: String) -> [UInt8] { text.utf8.filter { !Shaping.isSpace($0) } }

    @Test(arguments: ["application/xml", "text/html", "text/plain", "application/json"])
    func formattingKeepsEveryCharacter(_ type: String) {
        var numbers = SplitMix(seed: 42)
        var sorting = Look()
        sorting.format.sortsHeaders = true
        for _ in 0..<1500 {
            let count = Int.random(in: 0...24, using: &numbers)
            let body = (0..<count).map { _ in Self.pieces.randomElement(using: &numbers) ?? "" }.joined()
            #expect(solid(shaped(body, type: type, look: sorting)) == solid(body), "\(body.debugDescription)")
            // Colours alone change no character of the body.
            let colored = shaped(body, type: type, pretty: .colors)
            let plain = colored.replacing(/\u{1B}\[[0-9;]*m/, with: "")
            #expect(plain == body, "\(body.debugDescription)")
        }
    }
}

@Suite("Charsets")
struct CharsetTests {
    private func decoded(_ bytes: [UInt8], _ charset: String, pieces: Int = 1) throws -> String {
        var decoder = try #require(CharsetDecoder(charset: charset))
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            out += decoder.decode(bytes[start..<min(start + pieces, bytes.count)])
        }
        out += decoder.finish()
        return String(decoding: out, as: UTF8.self)
    }

    @Test(
        "characters of other charsets are decoded, also if their bytes arrive one by one",
        arguments: [
            ("Shift_JIS", [0x93, 0xFA, 0x96, 0x7B], "日本"), ("EUC-JP", [0xC6, 0xFC, 0xCB, 0xDC], "日本"),
            ("ISO-2022-JP", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x4B, 0x5C, 0x1B, 0x28, 0x42, 0x61], "日本a"),
            ("gbk", [0xD6, 0xD0, 0x61], "中a"), ("GB2312", [0xD6, 0xD0], "中"), ("big5", [0xA4, 0xA4], "中"),
            ("euc-kr", [0xC7, 0xD1], "한"), ("windows-1251", [0xCF], "П"), ("koi8-r", [0xF0], "П"),
            ("iso-8859-2", [0xB1], "ą"), ("utf-16le", [0x61, 0, 0xE5, 0x65], "a日"), ("latin1", [0xE9, 0x80], "é€"),
        ] as [(String, [UInt8], String)])
    func decodes(_ charset: String, _ bytes: [UInt8], _ text: String) throws {
        #expect(try decoded(bytes, charset, pieces: bytes.count) == text)
        #expect(try decoded(bytes, charset) == text)
    }

    @Test func undecodableBytesAreReplaced() throws {
        #expect(try decoded([0x61, 0xFF, 0x62], "euc-jp", pieces: 3) == "a\u{FFFD}b")
        #expect(try decoded([0x61, 0x93], "shift_jis") == "a\u{FFFD}")
        let long = [UInt8](repeating: 0x41, count: 100_000)
        #expect(try decoded(long, "euc-jp", pieces: 70_000).utf8.count == 100_000)
    }

    @Test func unknownCharsetsAreRecognized() {
        #expect(CharsetDecoder.isKnown("UTF-8"))
        #expect(CharsetDecoder(charset: "utf-8") == nil)
        for name in ["klingon", "", "../x", "utf-16//TRANSLIT", "a b", String(repeating: "x", count: 100)] {
            #expect(!CharsetDecoder.isKnown(name))
        }
    }

    @Test func charsetOptionOverridesTheResponse() {
        var look = Look()
        look.charset = "utf-16le"
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: "application/json; charset=latin1", look: look),
            target: .init(isTerminal: true, pretty: .format, look: look))
        var out: [UInt8] = []
        formatter.feed(Array("[1]".utf8).flatMap { [$0, 0] }, into: &out)
        formatter.finish(into: &out)
        #expect(String(decoding: out, as: UTF8.self) == "[\n    1\n]\n")
    }
}
