internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("WebSocket reconnects", .timeLimit(.minutes(4)))
struct WebSocketReconnectTests {
    /// Reconnects at once, and often enough for every test.
    private static let quick = ReconnectionPolicy(limit: 5, initialDelay: .milliseconds(1), stableAfter: .zero)
    /// Would reconnect only after the test.
    private static let slow = ReconnectionPolicy(
        initialDelay: .seconds(3600), maximumDelay: .seconds(3600), jitter: .none)

    private static func socket(_ transport: ScriptedTransport) -> WebSocketRequest {
        Session(transport: transport).webSocket("ws://example.org") { $0.compression = .off }
    }

    private static func lost(_ peer: ScriptedPeer) async {
        await peer.accept()
        peer.wire.close()
    }

    @Test("messages continue over several connections, and the hook's message is the first on each")
    func resubscribes() async throws {
        let texts = Lines()
        let script: ScriptedTransport.Script = { peer in
            await peer.accept()
            guard case .message(.text(let hook))? = await peer.next(),
                case .message(.text(let text))? = await peer.next()
            else { return }
            texts.add([hook, text])
            await peer.send("answer to \(text)")
            await peer.close(1012, "restart")
        }
        let transport = ScriptedTransport(
            script, script,
            { peer in
                await peer.accept()
                guard case .message(.text(let hook))? = await peer.next() else { return }
                texts.add([hook])
                await peer.close(1000)
            })
        let openings = Lines()
        let socket = Self.socket(transport).reconnecting(Self.quick) { socket in
            openings.add(["\(openings.all.count)"])
            try await socket.send("subscribe")
        }
        // This call begins before there is a connection; its message must not precede the hook's.
        async let first: Void = socket.send("0")
        var seen: [WebSocketMessage] = []
        for try await message in socket.messages {
            seen.append(message)
            guard seen.count == 1 else { continue }
            // The close frame may follow this message. A message that is sent before the client reads that frame is
            // lost with the old connection.
            try await eventually { openings.all.count == 2 }
            try await socket.send("1")
        }
        try await first
        #expect(seen == [.text("answer to 0"), .text("answer to 1")])
        #expect(texts.all == ["subscribe", "0", "subscribe", "1", "subscribe"])
        #expect(openings.all == ["0", "1", "2"])
        #expect(socket.closeCode == .normalClosure)
        #expect(socket.retryCount == 2)
        try await eventually { socket.isFinished }
        await transport.scriptsEnded()
    }

    @Test("a message that is sent while there is no connection waits for the next one")
    func waits() async throws {
        let gate = Gate()
        let transport = ScriptedTransport(
            Self.lost,
            { peer in
                guard (try? await gate.wait()) != nil else { return }
                await peer.accept()
                await peer.echo()
            })
        let socket = Self.socket(transport).reconnecting(Self.quick)
        try await socket.opened()
        try await gate.waitForArrivals(count: 1)
        #expect(socket.closeCode == nil)
        async let sending: Void = socket.send("late")
        async let ping = socket.ping()
        gate.open()
        try await sending
        #expect(try await ping > .zero)
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("late"))
        try await socket.close()
        #expect(socket.closeCode == .normalClosure)
        await transport.scriptsEnded()
    }

    @Test("with sending .fails, a message without a connection fails at once with the last error")
    func fails() async throws {
        let gate = Gate()
        let transport = ScriptedTransport(
            { peer in
                await peer.accept()
                await peer.close(1013, "later")
                _ = await peer.next()
            },
            { peer in
                guard (try? await gate.wait()) != nil else { return }
                await peer.accept()
                await peer.echo()
            })
        var policy = Self.quick
        policy.sending = .fails
        let socket = Self.socket(transport).reconnecting(policy)
        try await socket.opened()
        try await gate.waitForArrivals(count: 1)
        let error = await #expect(throws: CurlewError.self) { try await socket.send("late") }
        #expect(error?.code == .webSocketClosed && error?.closeCode == .tryAgainLater && error?.closeReason == "later")
        await #expect(throws: CurlewError.self) { try await socket.ping() }
        // Unlike sending, `opened()` waits for the connection.
        async let opened = socket.opened()
        gate.open()
        _ = try await opened
        try await socket.send("now")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("now"))
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("a sender that waits for room sends its whole message over the next connection")
    func fullOutbox() async throws {
        let isFull = Gate()
        let transport = ScriptedTransport(
            { peer in
                await peer.accept()
                try? await isFull.wait()
                peer.wire.close()
            },
            { peer in
                await peer.accept()
                await peer.echo()
            })
        let socket = Session(transport: transport).webSocket("ws://example.org") {
            $0.compression = .off
            $0.sendBuffer = 1
        }.reconnecting(Self.quick)
        try await socket.opened()
        // The first message fills the connection and the second one the buffer. Both are lost with that connection.
        for _ in 0..<2 { try await socket.send(Data(count: 200_000)) }
        let third = Task { try await socket.send("third") }
        isFull.open()
        try await third.value
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("third"))
        try await socket.close()
    }

    @Test("a WebSocket that reaches the limit of reconnections ends with the last failure")
    func limit() async throws {
        let transport = ScriptedTransport(
            Self.lost,
            {
                guard await $0.readRequest() else { return }
                await $0.answer("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
            })
        let socket = Self.socket(transport).reconnecting(Self.quick)
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .webSocketRefused && error?.responseCode == 503)
        #expect(transport.urls.count == 6)
        let late = await #expect(throws: CurlewError.self) { try await socket.send("x") }
        #expect(late?.code == .webSocketRefused)
        #expect(socket.closeCode == .abnormalClosure)
        #expect(socket.retryCount == 5)
        #expect(socket.attempts.map(\.number) == Array(0...5))
        #expect(socket.attempts.map { $0.error?.responseCode } == [101, 503, 503, 503, 503, 503])
    }

    @Test("only the first and the last of many attempts are kept")
    func longHistory() async throws {
        let transport = ScriptedTransport(Self.lost)
        let policy = ReconnectionPolicy(
            limit: 30, initialDelay: .microseconds(1), maximumDelay: .microseconds(1), stableAfter: .seconds(3600))
        let socket = Self.socket(transport).reconnecting(policy)
        await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(socket.retryCount == 30)
        #expect(socket.attempts.map(\.number) == [0, 1] + Array(14...30))
        #expect(socket.attempts.allSatisfy { $0.tasks.count == 1 })
    }

    @Test("connections that end soon after they open count towards the limit of reconnections")
    func flapping() async throws {
        let transport = ScriptedTransport(Self.lost)
        var policy = Self.quick
        policy.stableAfter = .seconds(3600)
        let socket = Self.socket(transport).reconnecting(policy)
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .webSocketClosed && error?.closeCode == .abnormalClosure)
        #expect(transport.urls.count == 6)
    }

    @Test(
        "a close code that forbids reconnecting ends the WebSocket, 1000 without an error",
        arguments: [1000, 1008, 4001] as [UInt16])
    func ends(code: UInt16) async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            await peer.close(code)
            _ = await peer.next()
        }
        let socket = Self.socket(transport).reconnecting(Self.quick)
        let failure = await socket.readToEnd().error
        #expect(failure?.closeCode?.rawValue == (code == 1000 ? nil : code))
        #expect(transport.urls.count == 1)
    }

    @Test("close code 1001 is no error if the policy allows no reconnection")
    func noAttempts() async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            await peer.close(1001)
            _ = await peer.next()
        }
        let socket = Self.socket(transport).reconnecting(ReconnectionPolicy(limit: 0))
        for try await _ in socket.messages {}
        #expect(socket.closeCode == .goingAway)
    }

    // MARK: Ends by the user

    @Test(
        "closing between connections ends the messages without an error, cancelling with one", arguments: [true, false])
    func endInPause(closes: Bool) async throws {
        let transport = ScriptedTransport(Self.lost)
        let socket = Self.socket(transport).reconnecting(Self.slow)
        let reader = Task { for try await _ in socket.messages {} }
        // `opened()` would wait for the next connection if the first one is already lost.
        try await eventually { socket.link.isBetweenConnections }
        let sender = Task { try await socket.send("never") }
        if closes { try await socket.close() } else { socket.cancel() }
        let result = await reader.result
        #expect(((result.failure as? CurlewError)?.code == .cancelled) == !closes)
        await #expect(throws: CurlewError.self) { try await sender.value }
        #expect(transport.urls.count == 1)
    }

    @Test("a WebSocket whose loop was left does not reconnect")
    func leavesInPause() async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            await peer.send("one")
            peer.wire.close()
        }
        let socket = Self.socket(transport).reconnecting(Self.slow)
        for try await message in socket.messages {
            #expect(message == .text("one"))
            break
        }
        try await eventually { socket.isCancelled || socket.isFinished }
        #expect(transport.urls.count == 1)
    }

    @Test("a hook that throws ends the WebSocket with its error")
    func failingHook() async throws {
        struct Refused: Error {}
        let transport = ScriptedTransport { peer in
            await peer.accept()
            _ = await peer.next()
        }
        let socket = Self.socket(transport).reconnecting(Self.quick) { _ in throw Refused() }
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.underlying is Refused)
        #expect(transport.urls.count == 1)
        await transport.scriptsEnded()
    }

    @Test("a connection that is lost while its hook runs is opened again")
    func lostInHook() async throws {
        let transport = ScriptedTransport(
            { peer in
                await peer.accept()
                _ = await peer.next()
                peer.wire.close()
            },
            { peer in
                await peer.accept()
                await peer.echo()
            })
        let socket = Self.socket(transport).reconnecting(Self.quick) { socket in try await socket.ping() }
        try await socket.send("x")
        #expect(transport.urls.count == 2)
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("a connection lost just after its hook is not used by calls that begin later")
    func lostAfterHook() throws {
        let link = WebSocketLink(options: WebSocketOptions())
        let outbox = WebSocketOutbox(limit: 1)
        let connection = WebSocketLink.Connection(
            url: try #require(URL(string: "http://example.org/")), head: ResponseHead(status: 101), agreement: .init(),
            outbox: outbox)
        link.state.withLock { state in
            state.reconnection = Reconnection(Self.quick)
            state.machine = WebSocketStateMachine(clocks: link.options.clocks, at: .now)
            state.lastConnection = connection
        }
        let waited = link.opening
        let told = try #require(link.handOver(connection))
        link.carryOut(link.state.withLock { $0.machine?.wireEnded(nil) ?? .none })
        told.resolve(.success(connection))
        // Waiting calls resume and are directed to the next connection. New calls do not find the lost connection open.
        #expect(waited.value != nil && link.opening.value == nil)
        #expect(link.follows(connection))
        #expect(link.handOver(connection) == nil)
    }

    @Test("a retrier renews the credentials of a reconnection that was refused")
    func retriers() async throws {
        let accepting: ScriptedTransport.Script = { peer in
            guard await peer.readRequest() else { return }
            guard peer.request.headers["Authorization"] == "Bearer new" else {
                return await peer.answer("HTTP/1.1 401 Old\r\nContent-Length: 0\r\n\r\n")
            }
            await peer.accept(isRead: true)
            await peer.echo()
        }
        let transport = ScriptedTransport(Self.lost, accepting, accepting)
        let token = Watched("old")
        let socket = Session(transport: transport).webSocket("ws://example.org", interceptor: .renewing(token))
            .reconnecting(Self.quick)
        try await socket.opened()
        try await eventually { token.value == "new" }
        try await socket.ping()
        try await socket.close()
        #expect(transport.urls.count == 3)
    }

    @Test("a first connection that fails is tried again too")
    func first() async throws {
        let transport = ScriptedTransport(
            { $0.wire.close() },
            { peer in
                await peer.accept()
                await peer.echo()
            })
        let socket = Self.socket(transport).reconnecting(Self.quick)
        try await socket.ping()
        try await socket.close()
        #expect(transport.urls.count == 2)
    }
}

private final class Lines: Sendable {
    private let lines = Watched<[String]>([])
    var all: [String] { lines.value }
    func add(_ more: [String]) { lines.change { $0 += more } }
}

extension WebSocketLink {
    /// Whether one connection has ended and the next one has not begun.
    fileprivate var isBetweenConnections: Bool { state.withLock { $0.machine == nil && $0.lastEnding != nil } }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
