internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("WebSocket flow", .timeLimit(.minutes(4)))
struct WebSocketFlowTests {
    private static func socket(
        _ configure: (inout WebSocketOptions) -> Void = { _ in }, _ script: @escaping ScriptedTransport.Script
    ) -> (WebSocketRequest, ScriptedTransport) {
        let transport = ScriptedTransport(script)
        return (Session(transport: transport).webSocket("ws://example.org", configure: configure), transport)
    }

    // MARK: Pings

    @Test("a ping returns its round trip, and the peer's ping is answered while no message is read")
    func pings() async throws {
        let (socket, transport) = Self.socket {
            await $0.accept()
            await $0.send("unread")
            await $0.send(.ping, [7])
            // The two pings cross in transit.
            var isAnswered = false
            var pings: [[UInt8]] = []
            while !isAnswered || pings.isEmpty {
                switch await $0.next() {
                case .pong(let payload): isAnswered = payload == [7]
                case .ping(let payload): pings.append(payload)
                case .message, .close, nil:
                    Issue.record("neither ping nor pong")
                    return
                }
            }
            for payload in pings { await $0.send(.pong, payload) }
            await $0.echo()
        }
        let roundTrip = try await socket.ping()
        #expect(roundTrip > .zero)
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("a missing pong ends the WebSocket")
    func silence() async throws {
        let (socket, _) = Self.socket({ $0.pongTimeout = .milliseconds(30) }) {
            await $0.accept()
            while await $0.next() != nil {}
        }
        let ping = await #expect(throws: CurlewError.self) { try await socket.ping() }
        #expect(ping?.code == .idleTimedOut)
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .idleTimedOut)
    }

    @Test("a ping behind a large message gets a later deadline when part of the message was sent")
    func pingBehindMessage() async throws {
        let (reads, answers) = (Gate(), Gate())
        let (socket, transport) = Self.socket({
            $0.compression = .off
            $0.pongTimeout = .seconds(3600)
        }) { peer in
            await peer.accept()
            try? await reads.wait()
            while let event = await peer.next() {
                guard case .ping(let payload) = event else { continue }
                try? await answers.wait()
                await peer.send(.pong, payload)
                return await peer.echo()
            }
        }
        try await socket.opened()
        try await socket.send(Data(count: 900_000))
        // The connection has accepted the first piece and holds the second.
        try await eventually { transport.wires[0].outgoing.written > 100_000 }
        let ping = Task { try await socket.ping() }
        try await eventually { socket.link.pongDeadline != nil }
        let first = try #require(socket.link.pongDeadline)
        reads.open()
        try await eventually { socket.link.pongDeadline.map { $0 > first } ?? false }
        try await answers.waitForArrivals(count: 1)
        answers.open()
        #expect(try await ping.value > .zero)
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("the heartbeat pings by itself")
    func heartbeat() async throws {
        let (socket, transport) = Self.socket({ $0.pingInterval = .milliseconds(5) }) {
            await $0.accept()
            for _ in 0..<3 {
                guard case .ping(let payload)? = await $0.next() else {
                    Issue.record("no ping")
                    return
                }
                await $0.send(.pong, payload)
            }
            await $0.close(1000)
        }
        for try await _ in socket.messages {}
        await transport.scriptsEnded()
    }

    // MARK: Violations

    @Test("messages before a violation can be answered, and the close frame follows the answers")
    func answersBeforeViolation() async throws {
        let (socket, transport) = Self.socket { peer in
            await peer.accept()
            // In one piece: two messages, and a frame with a reserved bit.
            await peer.raw([0x81, 1, 0x61, 0x81, 1, 0x62, 0xB1, 1, 0x63])
            #expect(await peer.next() == .message(.text("a")))
            #expect(await peer.next() == .message(.text("b")))
            guard case .close(.protocolError, _)? = await peer.next() else {
                Issue.record("no close frame")
                return
            }
        }
        let error = await #expect(throws: CurlewError.self) {
            for try await message in socket.messages { try await socket.send(message) }
        }
        #expect(error?.code == .protocolViolation)
        await transport.scriptsEnded()
    }

    @Test("a violation behind an unread message waits only until closeTimeout")
    func violationBehindUnread() async throws {
        let (socket, transport) = Self.socket({ $0.closeTimeout = .milliseconds(30) }) { peer in
            await peer.accept()
            await peer.raw([0x81, 1, 0x61, 0xB1, 1, 0x63])
            guard case .close(.protocolError, _)? = await peer.next() else {
                Issue.record("no close frame")
                return
            }
        }
        try await socket.opened()
        await transport.scriptsEnded()
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("a"))
        let error = await #expect(throws: CurlewError.self) { try await messages.next() }
        #expect(error?.code == .protocolViolation)
    }

    @Test("close() does not wait until messages before a violation are answered")
    func closesBeforeViolation() async throws {
        let (socket, transport) = Self.socket({ $0.closeTimeout = .seconds(60) }) { peer in
            await peer.accept()
            await peer.raw([0x81, 1, 0x61, 0xB1, 1, 0x63])
            #expect(await peer.next() == .close(.normalClosure, reason: ""))
            peer.wire.close()
        }
        try await socket.opened()
        try await socket.close()
        await transport.scriptsEnded()
    }

    // MARK: Back-pressure

    @Test("a reader that pauses stops the peer and receives every message later")
    func slowReader() async throws {
        let count = 500
        let (socket, transport) = Self.socket({ $0.maximumMessageSize = 100_000 }) { peer in
            await peer.accept()
            for index in 0..<count { await peer.send(.binary, [UInt8](repeating: UInt8(index & 0xFF), count: 10_000)) }
            await peer.close(1000)
        }
        try await socket.opened()
        let pipe = transport.wires[0].incoming
        // Unread messages, bytes in transit, and one piece between the two.
        try await eventually { pipe.written > 150_000 }
        #expect(pipe.written < 400_000)
        var received = 0
        for try await message in socket.messages {
            #expect(message == .data(Data(repeating: UInt8(received & 0xFF), count: 10_000)))
            received += 1
        }
        #expect(received == count)
    }

    @Test("a peer that reads nothing stops the sender and receives every message later")
    func slowPeer() async throws {
        let gate = Gate()
        let (socket, transport) = Self.socket({
            $0.sendBuffer = 100_000
            $0.compression = .off
        }) { peer in
            await peer.accept()
            try? await gate.wait()
            var received = 0
            while case .message? = await peer.next() { received += 1 }
            #expect(received == 100)
            await peer.close(1000)
        }
        try await socket.opened()
        let sent = Watched(0)
        let sender = Task {
            for _ in 0..<100 {
                try await socket.send(Data(repeating: 1, count: 10_000))
                sent.change { $0 += 1 }
            }
        }
        try await eventually { sent.value > 10 }
        #expect(sent.value < 40)
        gate.open()
        try await sender.value
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("a message whose sender is cancelled while it waits for room is not sent")
    func cancelledSender() async throws {
        let gate = Gate()
        let (socket, transport) = Self.socket({
            $0.sendBuffer = 1
            $0.closeTimeout = .seconds(60)
        }) { peer in
            await peer.accept()
            try? await gate.wait()
            var texts: [WebSocketMessage] = []
            while case .message(let message)? = await peer.next() { texts.append(message) }
            #expect(texts.count == 2)
            await peer.close(1000)
        }
        try await socket.opened()
        // The first message fills the connection, the second one the buffer.
        for _ in 0..<2 { try await socket.send(Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) })) }
        let sender = Task { try await socket.send("third") }
        sender.cancel()
        let error = await #expect(throws: CurlewError.self) { try await sender.value }
        #expect(error?.code == .cancelled)
        gate.open()
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("a cancelled task sends nothing, even if there is room")
    func cancelledBeforeSending() async throws {
        let (socket, transport) = Self.socket { peer in
            await peer.accept()
            #expect(await peer.next() == .message(.text("after")))
            await peer.close(1000)
        }
        try await socket.opened()
        let sender = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let errors = [
                await #expect(throws: CurlewError.self) { try await socket.send("x") },
                await #expect(throws: CurlewError.self) { try await socket.send(json: ["x": 1]) },
                await #expect(throws: CurlewError.self) { try await socket.ping() },
            ]
            return errors.map { $0?.code }
        }
        #expect(await sender.value == [.cancelled, .cancelled, .cancelled])
        try await socket.send("after")
        for try await _ in socket.messages {}
        await transport.scriptsEnded()
    }

    // MARK: Iterators

    @Test("dropping an iterator that was never read leaves the WebSocket open")
    func unusedIterator() async throws {
        let (socket, transport) = Self.socket { peer in
            await peer.accept()
            #expect(await peer.next() == .message(.text("x")))
            await peer.send("y")
            #expect(await peer.next() == .close(.normalClosure, reason: ""))
            await peer.close(1000)
        }
        try await socket.opened()
        _ = socket.messages.makeAsyncIterator()
        _ = socket.messages.decode(Int.self).makeAsyncIterator()
        try await socket.send("x")
        for try await message in socket.messages {
            #expect(message == .text("y"))
            break
        }
        await transport.scriptsEnded()
    }

    // MARK: Closing

    private static let closings: [(UInt16, String)] =
        [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535].map { ($0, "") }
        + [(1000, String(repeating: "x", count: 124)), (4000, String(repeating: "€", count: 42))]

    @Test(
        "a code or reason that no close frame can carry is an error, and the WebSocket stays open", arguments: closings)
    func impossibleClose(code: UInt16, reason: String) async throws {
        let most = String(repeating: "é", count: 61) + "x"
        let (socket, transport) = Self.socket { peer in
            await peer.accept()
            #expect(await peer.next() == .message(.text("still open")))
            #expect(await peer.next() == .close(.init(rawValue: 4999), reason: most))
            await peer.close(4999)
        }
        try await socket.opened()
        let error = await #expect(throws: CurlewError.self) {
            try await socket.close(code: .init(rawValue: code), reason: reason)
        }
        #expect(error?.code == .parameterEncodingFailed)
        #expect(error?.reason.contains(reason.isEmpty ? "\(code):" : "\(reason.utf8.count) bytes") == true)
        try await socket.send("still open")
        try await socket.close(code: .init(rawValue: 4999), reason: most)
        await transport.scriptsEnded()
    }

    @Test(
        "errors of a WebSocket name the URL that it was created with",
        arguments: ["ws://example.org/a", "wss://example.org/a?b=_", "WSS://example.org", "https://example.org/a"])
    func urlOfErrors(url: String) async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            await peer.close(1011)
        }
        let socket = Session(transport: transport).webSocket(url)
        let expected = url.replacing("WSS", with: "wss")
        let read = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(read?.code == .webSocketClosed)
        #expect(read?.url?.absoluteString == expected)
        let sent = await #expect(throws: CurlewError.self) { try await socket.send("x") }
        #expect(sent?.url?.absoluteString == expected)
        try await eventually { socket.isFinished }
        #expect(socket.error?.url?.absoluteString == expected)
        await transport.scriptsEnded()
    }

    // MARK: Refusals

    @Test("a response other than 101 is an error with its status and its body")
    func refused() async throws {
        let (socket, _) = Self.socket {
            guard await $0.readRequest() else { return }
            await $0.answer("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno!\n")
        }
        let error = await #expect(throws: CurlewError.self) { try await socket.opened() }
        #expect(error?.code == .webSocketRefused)
        #expect(error?.responseCode == 403)
        #expect(error?.responseBody == Data("no!\n".utf8))
        #expect(error?.url?.absoluteString == "ws://example.org")
        let later = await #expect(throws: CurlewError.self) { try await socket.send("x") }
        #expect(later?.code == .webSocketRefused)
        #expect(later?.url?.absoluteString == "ws://example.org")
        #expect(socket.closeCode == nil)
    }

    @Test(
        "a 101 with an invalid handshake field is refused",
        arguments: [
            ["Sec-WebSocket-Accept": "x"], ["Sec-WebSocket-Protocol": "other"], ["Upgrade": "h2c"],
            ["Sec-WebSocket-Extensions": "unknown"],
        ])
    func wrongAnswer(changes: [String: String]) async throws {
        let (socket, transport) = Self.socket { await $0.accept(changes) }
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .webSocketRefused)
        #expect(error?.responseCode == 101)
        #expect(transport.wires[0].incoming.isClosed)
    }

    @Test("a handshake follows a redirect and sends the cookies that it set")
    func redirect() async throws {
        let transport = ScriptedTransport(
            {
                guard await $0.readRequest() else { return }
                await $0.answer(
                    "HTTP/1.1 307 Over there\r\nLocation: /other\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
            },
            {
                await $0.accept()
                #expect($0.request.line == "GET /other HTTP/1.1")
                #expect($0.request.headers["Cookie"] == "a=b")
                await $0.echo()
            })
        let session = Session(configuration: SessionConfiguration { $0.cookies = CookieJar() }, transport: transport)
        let socket = session.webSocket("ws://example.org/first")
        try await socket.opened()
        try await socket.close()
        await transport.scriptsEnded()
        #expect(transport.urls.count == 2)
    }

    @Test(
        "subprotocols are not sent to another origin after a redirect",
        arguments: [nil, "example.org", "other.example"])
    func redirectedSubprotocols(host: String?) async throws {
        let transport = ScriptedTransport(
            {
                guard await $0.readRequest() else { return }
                #expect($0.request.headers["Sec-WebSocket-Protocol"] == "chat, token.abc")
                let target = host.map { "ws://\($0)/other" } ?? "/other"
                await $0.answer("HTTP/1.1 307 Over there\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
            },
            {
                await $0.accept(protocols: ["chat"])
                let isSame = host != "other.example"
                #expect($0.request.headers["Sec-WebSocket-Protocol"] == (isSame ? "chat, token.abc" : nil))
                await $0.echo()
            })
        let socket = Session(transport: transport).webSocket("ws://example.org/", protocols: ["chat", "token.abc"])
        try await socket.opened()
        #expect(socket.selectedProtocol == (host == "other.example" ? nil : "chat"))
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("a handshake drops the user's framing fields and requests the subprotocols of a user's field")
    func framingFields() async throws {
        let transport = ScriptedTransport {
            await $0.accept(protocols: ["chat"])
            for name in ["Content-Length", "Transfer-Encoding"] { #expect($0.request.headers[name] == nil) }
            await $0.echo()
        }
        let fields: HTTPHeaders = [
            "Content-Length": "20", "Transfer-Encoding": "chunked", "Sec-WebSocket-Protocol": "chat",
        ]
        let socket = Session(transport: transport).webSocket("ws://example.org/", headers: fields)
        try await socket.opened()
        #expect(socket.selectedProtocol == "chat")
        try await socket.close()
        await transport.scriptsEnded()
    }

    @Test("a handshake without an answer ends with the first-byte timeout")
    func noAnswer() async throws {
        let transport = ScriptedTransport { if await $0.readRequest() { _ = await $0.next() } }
        let session = Session(
            configuration: SessionConfiguration { $0.timeouts.firstByte = .milliseconds(30) }, transport: transport)
        let error = await #expect(throws: CurlewError.self) { try await session.webSocket("ws://example.org").opened() }
        #expect(error?.code == .firstByteTimedOut)
    }

    @Test("a MockTransport without WebSockets reports them as unsupported")
    func unsupported() async throws {
        let session = Session(transport: MockTransport())
        let error = await #expect(throws: CurlewError.self) { try await session.webSocket("ws://example.org").opened() }
        #expect(error?.code == .unsupported)
    }

    @Test("closing a WebSocket before it is open ends the tasks that wait for it", .timeLimit(.minutes(1)))
    func cancelledEarly() async throws {
        let (socket, transport) = Self.socket { if await $0.readRequest() { _ = await $0.next() } }
        let opened = Task { try await socket.opened() }
        try await eventually { transport.wires.count == 1 }
        try await socket.close()
        let error = await #expect(throws: CurlewError.self) { try await opened.value }
        #expect(error?.code == .cancelled)
        await transport.scriptsEnded()
    }

    @Test("a compressed message that expands above the limit is an error")
    func bomb() async throws {
        let (socket, _) = Self.socket({ $0.maximumMessageSize = 100_000 }) {
            await $0.accept(compresses: true)
            await $0.send(.binary, [UInt8](repeating: 0, count: 10_000_000))
            _ = await $0.next()
        }
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == .limitExceeded)
    }
}

extension WebSocketLink {
    /// The deadline of the pong. Without a heartbeat the state machine has no other deadline.
    fileprivate var pongDeadline: WebSocketStateMachine.Instant? { state.withLock { $0.machine?.nextDeadline } }
}
