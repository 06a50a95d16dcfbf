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

@Suite("What ends in the middle")
struct CutBodyTests {
    private func onTerminal(_ body: String) -> String {
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: "application/json"), target: .init(isTerminal: true, pretty: .all))
        var out: [UInt8] = []
        for byte in body.utf8 { formatter.feed(CollectionOfOne(byte), into: &out) }
        formatter.finish(into: &out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test("no colour goes on behind a body", arguments: ["[\"cut", "{\"cut", "[\"cut\\"])
    func endsColours(_ body: String) {
        let out = onTerminal(body)
        #expect(out.hasSuffix("\u{1B}[0m\n"))
    }

    @Test func endsColoursBeforeTheNoticeOfBinaryData() {
        #expect(onTerminal("[\"a\u{0}b").hasSuffix("\"a\u{1B}[0m\n" + BinaryNotice.response + "\n"))
    }
}

@Suite("JSON where it is found")
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

    @Test func holdsNothingBackWhereTheStreamIsWatched() {
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

    @Test func sortsKeysAndKeepsTheRest() {
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
    func sortsNothingThatIsBroken(_ text: String) {
        #expect(shaped(text, type: "application/json", look: sorting()) == shaped(text, type: "application/json"))
    }

    @Test func doesNotRunOutOfStack() {
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
