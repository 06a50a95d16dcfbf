import CurlewCore
import Foundation
import Glibc
import Testing

@testable import CurlewTesting
@testable import CurlewTool

@Suite("curlew and WebSockets", .timeLimit(.minutes(4)))
struct WebSocketTests {
    typealias Script = TestServer.WebSocketScript

    private let server: TestServer
    private let base: String

    init() throws {
        server = try TestServer()
        server.webSocket("/echo", Script.echo.changed { $0.protocols = ["b"] })
        base = "ws://localhost:\(server.port)"
    }

    // MARK: In pipes

    @Test func linesAreSentAndMessagesArePrinted() async throws {
        let outcome = try await ToolProcess(base + "/echo", input: "one\n\ntwo\r\nthree ä").run()
        #expect(outcome.text == "one\n\ntwo\nthree ä\n")
        #expect(outcome.errors == "")
        #expect(outcome.status == 0)
    }

    @Test func manyLinesAreEchoedCompletely() async throws {
        let text = (0..<20_000).map { "line \($0)\n" }.joined()
        let outcome = try await ToolProcess(base + "/echo", input: text).run()
        #expect(outcome.text == text)
        #expect(outcome.status == 0)
    }

    @Test("each line is sent as a text message, or as a binary one with --binary", arguments: [false, true])
    func kinds(isBinary: Bool) async throws {
        let seen = Watched<[WebSocketMessage]>([])
        server.webSocket(
            "/kinds", Script.echo.changed { $0.onMessage = { message in seen.change { $0.append(message) } } })
        var tool = ToolProcess(base + "/kinds", input: isBinary ? nil : "a\nb")
        if isBinary {
            tool.input = Data([0xFF, 0x0A, 0x00])
            tool.arguments.append("--binary")
        }
        let outcome = try await tool.run()
        #expect(outcome.status == 0)
        #expect(seen.value == (isBinary ? [.data(Data([0xFF])), .data(Data([0]))] : [.text("a"), .text("b")]))
        #expect(outcome.output == (isBinary ? Data([0xFF, 0x0A, 0x00, 0x0A]) : Data("a\nb\n".utf8)))
    }

    @Test func lineThatIsNotUTF8IsAnError() async throws {
        var tool = ToolProcess(base + "/echo")
        tool.input = Data("fine\n".utf8) + Data([0xFF, 0x0A])
        let outcome = try await tool.run()
        #expect(outcome.status == 1)
        #expect(outcome.errors == "curlew: error: line 2 is not UTF-8\n  --binary sends any bytes.\n")
    }

    @Test("without input, or with -I, the tool only receives messages", arguments: [[], ["-I"]])
    func listens(options: [String]) async throws {
        server.webSocket(
            "/feed",
            Script([
                .send(.text("a\nb")), .send(.data(Data([0, 1]))), .ping(Data()), .send(.text("")), .close(.goingAway),
            ]))
        var tool = ToolProcess(base + "/feed", input: options.isEmpty ? nil : "unread")
        tool.arguments += options
        let outcome = try await tool.run()
        #expect(outcome.status == 0)
        #expect(outcome.output == Data("a\nb\n\u{0}\u{1}\n\n".utf8))
        #expect(outcome.errors == "")
    }

    @Test func writesIntoAFile() async throws {
        let folder = try ScratchDirectory()
        let path = folder.file("out").path(percentEncoded: false)
        let outcome = try await ToolProcess("-o", path, base + "/echo", input: "x\n").run()
        #expect(outcome.output.isEmpty)
        #expect(folder.read("out") == Data("x\n".utf8))
    }

    @Test func closedOutputPipeEndsTheWebSocket() async throws {
        server.webSocket("/flood", Script((0..<2000).map { .send(.text("message \($0)")) }))
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", "\(ToolProcess.executable.path) -I \(base)/flood | head -n 1"]
        let pipe = Pipe()
        // Foundation's `Process` retains itself and its pipes, so the descriptor is closed here.
        defer { try? pipe.fileHandleForReading.close() }
        shell.standardOutput = pipe
        let ended = ToolProcess.Ended(shell)
        try shell.run()
        #expect(await ended.status() == 0)
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(text == "message 0\n")
        try await eventually { server.openConnectionCount == 0 }
    }

    // MARK: The end of input

    @Test(
        "--timeout and --linger limit the wait for missing answers", arguments: ["--timeout=5", "--linger=0"])
    func noAnswers(option: String) async throws {
        let seen = Watched(0)
        server.webSocket(
            "/deaf", Script([.receive(1000)]).changed { $0.onMessage = { _ in seen.change { $0 += 1 } } })
        let outcome = try await ToolProcess(option, "-v", base + "/deaf", input: "a\nb\n").run()
        #expect(outcome.status == 0)
        #expect(outcome.errors == "curlew: closed with 1000\n")
        #expect(seen.value == 2)
    }

    @Test("--linger closes a WebSocket without input after a silence", arguments: [[], ["-I"]])
    func lingersWithoutInput(options: [String]) async throws {
        server.webSocket("/quiet", Script([.send(.text("here")), .receive(1)]))
        var tool = ToolProcess("--linger=300ms", "-v", base + "/quiet", input: options.isEmpty ? nil : "unread")
        tool.arguments += options
        let outcome = try await tool.run()
        #expect(outcome.text.hasSuffix("here\n"))
        #expect(outcome.status == 0)
        #expect(outcome.errors == "curlew: closed with 1000\n")
    }

    @Test func lingerOptionWaitsForSeveralMessages() async throws {
        server.webSocket(
            "/three",
            Script([
                .receive(1), .send(.text("1")), .pause(.milliseconds(20)), .send(.text("2")), .close(.normalClosure),
            ]))
        let outcome = try await ToolProcess("--linger=600", base + "/three", input: "go\n").run()
        #expect(outcome.text == "1\n2\n")
        #expect(outcome.status == 0)
    }

    @Test func ctrlCClosesTheWebSocket() async throws {
        server.webSocket("/open", Script([.send(.text("here"))]))
        let server = server
        let outcome = try await ToolProcess("-v", "-I", base + "/open").run { pid in
            _ = try await server.waitForRequests(count: 1)
            try await eventually { server.bytesSent > 100 }
            kill(pid, SIGINT)
        }
        #expect(outcome.status == 130)
        // The server echoes the close code. The tool may be interrupted before the echo arrives.
        #expect(
            outcome.errors == "curlew: closed with 1001\ncurlew: interrupted\n"
                || outcome.errors == "curlew: interrupted\n", "\(outcome.errors)")
        try await eventually { server.openConnectionCount == 0 }
    }

    // MARK: The handshake

    @Test func showsTheHandshakeAsItIsSent() async throws {
        let outcome = try await ToolProcess(
            "-v", "--subprotocol", "a", "--subprotocol", "b", "-a", "u:p", base + "/echo?x=y", "X-A:1", "q==2",
            input: "hello\n"
        ).run()
        let blocks = outcome.text.components(separatedBy: "\n\n")
        try #require(blocks.count == 3, "\(outcome.text)")
        let shown = blocks[0].components(separatedBy: "\n")
        #expect(shown[0] == "GET /echo?x=y&q=2 HTTP/1.1")
        let sent = try #require(server.requests.first)
        let made = ["Sec-WebSocket-Key", "Sec-WebSocket-Extensions"]
        #expect(
            shown.dropFirst().sorted()
                == sent.headers.filter { !made.contains($0.name) }.map { "\($0.name): \($0.value)" }.sorted())
        #expect(shown.contains("Sec-WebSocket-Protocol: a, b"))
        #expect(shown.contains("Authorization: Basic dTpw"))
        #expect(blocks[1].hasPrefix("HTTP/1.1 101 "))
        #expect(blocks[1].contains("\nSec-WebSocket-Protocol: b"))
        #expect(blocks[2] == "hello\n")
        #expect(outcome.errors == "curlew: closed with 1000\n")
    }

    @Test("a response that refuses the WebSocket is printed like any other response")
    func refused() async throws {
        server.route("/no") { _ in .text("not you", status: 403) }
        let plain = try await ToolProcess(base + "/no").run()
        #expect(plain.text == "not you")
        #expect(plain.status == 1)
        #expect(plain.errors == "curlew: error: localhost:\(server.port) did not open a WebSocket: 403 Forbidden\n")
        let checked = try await ToolProcess("--check-status", "-h", base + "/no").run()
        #expect(checked.text.hasPrefix("HTTP/1.1 403 Forbidden\n"))
        #expect(!checked.text.contains("not you"))
        #expect(checked.status == 4)
        let whole = try await ToolProcess("-v", base + "/no").run()
        #expect(whole.text.hasPrefix("GET /no HTTP/1.1\n"))
        #expect(whole.text.hasSuffix("\n\nnot you"))
    }

    @Test func followsRedirectsWhenAsked() async throws {
        server.route("/moved") { _ in .redirect(to: "/echo", status: 307) }
        #expect(try await ToolProcess(base + "/moved", input: "x\n").run().status == 1)
        let followed = try await ToolProcess("-F", base + "/moved", input: "x\n").run()
        #expect(followed.text == "x\n", "\(followed.errors)")
    }

    // MARK: Ends

    @Test(
        "the exit status and the error tell how the server ended the connection",
        arguments: [
            ([.close(.normalClosure)], 0, ""), ([.close(.goingAway, reason: "later")], 0, ""),
            ([.close(.init(rawValue: 1011), reason: "broken")], 1, "closed the WebSocket"),
            ([.cut], 1, "closed the WebSocket"), ([.reset], 1, "broke"),
            ([.raw(Data([0x81, 1, 0xC0]))], 1, "broke the rules of WebSockets"),
            ([.raw(Data([0x82, 0x7F, 0x7F, 0, 0, 0, 0, 0, 0, 0]))], 1, "larger than allowed"),
            ([.silence], 2, "did not answer a ping in time"),
        ] as [([Script.Step], Int32, String)])
    func ends(steps: [Script.Step], status: Int32, what: String) async throws {
        server.webSocket("/end", Script(steps))
        // Only the silent server gets short timeouts. With them, any server of a busy machine could look silent.
        let clocks = status == 2 ? ["--ping", "50ms", "--timeout", "5"] : ["--timeout", "60"]
        var tool = ToolProcess(base + "/end")
        tool.arguments = clocks + tool.arguments
        let outcome = try await tool.run()
        #expect(outcome.status == status)
        #expect(what.isEmpty ? outcome.errors.isEmpty : outcome.errors.contains(what), "\(outcome.errors)")
        if what == "closed the WebSocket", !outcome.errors.contains("close frame") {
            #expect(outcome.errors.contains("1011") && outcome.errors.contains("broken"), "\(outcome.errors)")
        }
    }

    // MARK: On a terminal

    @Test func typedLineIsSentAsMessage() async throws {
        var tool = ToolProcess()
        tool.arguments = [base + "/echo", "--pretty=none"]
        let terminal = try TerminalProcess(tool)
        await terminal.wait(for: "connected")
        terminal.type("typed\u{1B}[2J\n")
        await terminal.wait(for: "typed\\x1b[2J")
        // Ctrl-D ends the input.
        terminal.type("\u{4}")
        let (screen, status) = await terminal.finish()
        #expect(status == 0)
        #expect(screen.contains("typed\\x1b[2J\r\n"))
    }

    @Test func binaryMessageIsDescribedOnTerminal() async throws {
        server.webSocket(
            "/kinds", Script([.send(.data(Data([0, 1, 2]))), .send(.text(#"{"a":[1]}"#)), .close(.normalClosure)]))
        var tool = ToolProcess()
        tool.arguments = ["-I", "--pretty=format", base + "/kinds"]
        let screen = await (try TerminalProcess(tool)).finish().screen.replacing("\r\n", with: "\n")
        #expect(screen == "(binary message of 3 B)\n{\n    \"a\": [\n        1\n    ]\n}\n")
    }
}
