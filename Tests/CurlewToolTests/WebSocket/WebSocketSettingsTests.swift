import CurlewCore
import Testing
@testable import CurlewTool

@Suite("Options of WebSockets")
struct WebSocketSettingsTests {
    @Test(
        "the URL's scheme decides whether the request is a WebSocket",
        arguments: [
            (["ws://example.org"], true), (["WSS://example.org/x"], true),
            (["--default-scheme", "wss", ":80/x"], true),
            (["--default-scheme", "ws", "http://example.org"], false), (["example.org/?u=ws://x"], false),
        ])
    func schemes(words: [String], isWebSocket: Bool) throws {
        #expect(try invocation(words).isWebSocket == isWebSocket)
    }

    @Test func readsTheOptions() throws {
        let settings = try invocation([
            "ws://x", "--subprotocol", "a", "--subprotocol=b, c", "--binary", "--ping", "500ms", "--linger", "0",
        ]).webSocket
        #expect(settings.subprotocols == ["a", "b", "c"])
        #expect(settings.sendsBinary)
        #expect(settings.pingInterval == .milliseconds(500))
        #expect(settings.linger == .zero)
        #expect(try invocation(["ws://x", "X-A:b", "q==1"]).items.count == 2)
    }

    @Test(
        "invalid combinations of WebSocket URLs, items and options are refused",
        arguments: [
            ["ws://x", "a=1"], ["ws://x", "--raw", "a"], ["-f", "ws://x"], ["POST", "ws://x"], ["-d", "ws://x"],
            ["--offline", "ws://x"], ["--curl", "ws://x"], ["--har", "f", "ws://x"], ["--timing", "ws://x"],
            ["--retry", "1", "ws://x"], ["--limit-rate", "1k", "ws://x"], ["--cache", "c", "ws://x"],
            ["--ping", "0", "ws://x"],
            ["--ping", "soon", "ws://x"], ["--subprotocol", "a b,", "ws://x"], ["--subprotocol", "a,a", "ws://x"],
            ["http://x", "--binary"], ["x", "--ping", "1"], ["ws://x", "ws://y"],
        ])
    func refusals(words: [String]) {
        #expect(throws: UsageError.self) { try invocation(words) }
    }

    @Test func aURLHasTheSchemeThatWasTyped() throws {
        #expect(try TargetURL.resolve("WSS://example.org") == "wss://example.org/")
        #expect(try TargetURL.resolve(":8080/x", defaultScheme: "ws") == "ws://localhost:8080/x")
        let error = #expect(throws: UsageError.self) { try TargetURL.resolve("wss:/example.org") }
        #expect(error?.hint == "Did you mean 'wss://example.org'?")
    }
}

@Suite("Closing of WebSockets by the tool", .timeLimit(.minutes(4)))
struct FarewellTests {
    private let farewell: Farewell
    private let closes: AsyncStream<WebSocketCloseCode>

    /// Waits ten minutes for a missing answer, but only a millisecond after the last one.
    init() {
        let (closes, feed) = AsyncStream<WebSocketCloseCode>.makeStream()
        self.closes = closes
        farewell = Farewell(.init(whileUnanswered: .seconds(600), afterAnswers: .milliseconds(1))) { feed.yield($0) }
    }

    private func firstClose() async -> WebSocketCloseCode? {
        for await code in closes { return code }
        return nil
    }

    @Test("after the end of input, the WebSocket is closed when the last answer has arrived")
    func theLastAnswer() async {
        for _ in 0..<2 { await farewell.sends() }
        await farewell.inputEnded()
        for _ in 0..<2 { await farewell.received() }
        #expect(await firstClose() == .normalClosure)
    }

    @Test("the end of input closes the WebSocket if every answer has arrived")
    func theEndOfInput() async {
        await farewell.sends()
        // A second answer to the only message does not delay the close.
        for _ in 0..<2 { await farewell.received() }
        await farewell.inputEnded()
        #expect(await firstClose() == .normalClosure)
    }

    @Test("the WebSocket stays open after the end of input while an answer is missing")
    func expectedAnswers() async {
        for _ in 0..<3 { await farewell.sends() }
        await farewell.received()
        await farewell.inputEnded()
        await farewell.received()
        await farewell.interrupt()
        // The last answer ends the timer of ten minutes, which would outlive the test.
        await farewell.received()
        #expect(await firstClose() == .goingAway)
    }
}

@Suite("Lines of standard input")
struct InputLinesTests {
    private func lines(_ pieces: [[UInt8]]) -> [String] {
        var input = InputLines()
        var lines = pieces.flatMap { input.feed($0) }
        if let last = input.finish() { lines.append(last) }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func inputLinesAreBounded() {
        var input = InputLines(limit: 3)
        #expect(input.feed("abc".utf8).isEmpty)
        #expect(!input.isLineTooLong)
        #expect(input.feed("d".utf8).isEmpty)
        #expect(input.isLineTooLong)
        #expect(input.feed("\nabc".utf8) == [Array("abcd".utf8)])
        #expect(!input.isLineTooLong)
    }

    @Test(
        "lines do not depend on how the input is split",
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
