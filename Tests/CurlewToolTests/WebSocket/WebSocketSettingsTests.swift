import Testing

@testable import CurlewTool

@Suite("Options of WebSockets")
struct WebSocketSettingsTests {
    private func invocation(_ words: [String]) throws -> Invocation {
        guard case .request(let invocation) = try CommandBuilder.command(for: words) else {
            throw UsageError("not a request: \(words)")
        }
        return invocation
    }

    @Test(
        "the scheme says whether it is one",
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
        "what makes no sense is refused before anything is sent",
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
