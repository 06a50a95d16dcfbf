import CurlewCore
import CurlewTesting
import Foundation
import Glibc
import Testing

@testable import CurlewTool

@Suite("curlew on a terminal", .timeLimit(.minutes(4)))
struct TerminalTests {
    private let server: TestServer
    private let base: String

    init() throws {
        server = try TestServer()
        base = ":\(server.port)"
    }

    private func screen(_ arguments: String..., environment: [String: String] = [:]) async throws -> (String, Int32) {
        var tool = ToolProcess()
        tool.arguments = arguments
        tool.environment = environment
        let result = try await TerminalProcess(tool).finish()
        return (result.screen.replacing("\r\n", with: "\n"), result.status)
    }

    @Test func colorsHeadAndBody() async throws {
        server.script(
            "/j",
            TestServer.Response(
                headers: ["Content-Type": "application/json", "Content-Length": "23"],
                body: .data(Data(#"{"b":1.10,"a":"\u00e9"}"#.utf8))))
        let (screen, status) = try await screen(base + "/j")
        #expect(status == 0)
        let escape = "\u{1B}["
        #expect(
            screen == """
                \(escape)90mHTTP/1.1\(escape)0m \(escape)1;32m200\(escape)0m \(escape)36mOK\(escape)0m
                \(escape)36mContent-Type\(escape)0m: application/json
                \(escape)36mContent-Length\(escape)0m: 23

                {
                    \(escape)1;34m"b"\(escape)0m: \(escape)36m1.10\(escape)0m,
                    \(escape)1;34m"a"\(escape)0m: \(escape)33m"\\u00e9"\(escape)0m
                }

                """)
    }

    @Test func obeysNoColor() async throws {
        let (screen, _) = try await screen(base + "/get", environment: ["NO_COLOR": "1"])
        #expect(!screen.contains("\u{1B}"))
        #expect(screen.contains("    \"headers\": {"))
    }

    @Test func controlCharactersFromServerAreEscaped() async throws {
        server.script("/x", .text("\u{1B}[2Jgone\u{7}\u{202E}\n").header("X-Evil", "\u{1B}]0;title\u{7}"))
        let (screen, _) = try await screen("--pretty=none", base + "/x")
        #expect(!screen.contains("\u{1B}"))
        #expect(!screen.contains("\u{7}"))
        #expect(screen.contains("X-Evil: \\x1b]0;title\\x07"))
        #expect(screen.hasSuffix("\n\\x1b[2Jgone\\x07\\u{202e}\n"))
    }

    @Test func hidesBinaryData() async throws {
        // The NUL is the first byte, because text that arrives in an earlier piece is shown before the notice.
        server.script("/x", .text("\u{0}text"))
        let (screen, _) = try await screen("-b", base + "/x")
        #expect(screen == BinaryNotice.response + "\n")
    }

    @Test("the received part of a truncated response is shown on its own line before the error")
    func showsWhatHasCome() async throws {
        server.script("/x", .text("{\"a\": \"bcdefgh\"}").faulting(.close, at: .inBody(after: 9)))
        let (screen, status) = try await screen("-b", base + "/x", environment: ["NO_COLOR": "1"])
        #expect(status == 1)
        #expect(screen.hasPrefix("{\"a\": \"bc\ncurlew: error: "))
    }

    @Test("Ctrl-C ends a request that hangs")
    func isInterrupted() async throws {
        var tool = ToolProcess()
        tool.arguments = [base + "/hang"]
        let terminal = try TerminalProcess(tool)
        _ = try await server.waitForRequests(count: 1)
        terminal.type("\u{3}")
        let (screen, status) = await terminal.finish()
        #expect(status == 130)
        #expect(screen.contains("curlew: interrupted"))
    }

    @Test func asksForThePassword() async throws {
        var tool = ToolProcess()
        tool.arguments = ["--check-status", "-h", "-a", "u", base + "/basic-auth/u/secret"]
        let terminal = try TerminalProcess(tool)
        await terminal.wait(for: "password for u@localhost: ")
        terminal.type("secret\n")
        let (screen, status) = await terminal.finish()
        #expect(status == 0)
        #expect(!screen.contains("secret"))
    }

    @Test("Ctrl-C at the password prompt restores the terminal's echo")
    func isInterruptedWhileItAsks() async throws {
        var tool = ToolProcess()
        tool.arguments = ["-a", "u", base + "/get"]
        let terminal = try TerminalProcess(tool)
        await terminal.wait(for: "password for u@localhost: ")
        #expect(!terminal.echoes)
        terminal.type("half a secr\u{3}")
        let (screen, status) = await terminal.finish()
        #expect(status == 130)
        #expect(terminal.echoedAtFirst && terminal.echoes)
        #expect(!screen.contains("secr"))
        #expect(server.requests.isEmpty)
    }

    @Test("the lines of an event stream are shown while they arrive")
    func showsStreamsLive() async throws {
        let gate = Gate()
        let first = "id: 1\ndata: {}\n\n"
        server.script(
            "/events",
            TestServer.Response(
                headers: ["Content-Type": "text/event-stream"],
                body: .chunks([Data(first.utf8), Data("data: 2\n\n".utf8)])
            )
            .stalling(until: gate, at: .inBody(after: Int64(first.utf8.count))))
        var tool = ToolProcess()
        tool.arguments = ["-b", "--pretty=none", base + "/events"]
        let terminal = try TerminalProcess(tool)
        await terminal.wait(for: "data: {}")
        gate.open()
        let (screen, status) = await terminal.finish()
        #expect(status == 0)
        #expect(screen.replacing("\r\n", with: "\n") == "id: 1\ndata: {}\n\ndata: 2\n\n")
    }

    @Test func formatsEachLineOfNDJSON() async throws {
        let (screen, _) = try await screen("-b", "--pretty=format", base + "/ndjson/2")
        #expect(screen == "{\n    \"id\": 0\n}\n{\n    \"id\": 1\n}\n")
    }
}
