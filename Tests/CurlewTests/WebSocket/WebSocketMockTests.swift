internal import CurlewCore
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

@Suite("WebSockets of MockTransport", .timeLimit(.minutes(4)))
struct WebSocketMockTests {
    typealias Script = TestServer.WebSocketScript

    private static func socket(
        _ script: Script, _ configure: (inout WebSocketOptions) -> Void = { _ in }
    ) -> (WebSocketRequest, MockTransport) {
        let transport = MockTransport()
        transport.webSocket("/socket", script)
        return (Session(transport: transport).webSocket("wss://example.org/socket", configure: configure), transport)
    }

    @Test("messages go both ways, compressed or not", arguments: [false, true])
    func echo(compresses: Bool) async throws {
        let texts = Watched<[WebSocketMessage]>([])
        let (socket, transport) = Self.socket(
            Script.echo.changed {
                $0.compresses = compresses
                $0.onMessage = { message in texts.change { $0.append(message) } }
            })
        let long = WebSocketMessage.text(String(repeating: "äb", count: 200_000))
        let messages: [WebSocketMessage] = [.text("one"), .data(Data([1])), long]
        async let sending: Void = { for message in messages { try await socket.send(message) } }()
        var seen: [WebSocketMessage] = []
        for try await message in socket.messages {
            seen.append(message)
            if seen.count == 3 { break }
        }
        try await sending
        #expect(seen == messages && texts.value == messages)
        try await eventually { transport.runningCount == 0 }
    }

    @Test("WebSockets work in a session with a cache") func besideCache() async throws {
        let transport = MockTransport()
        transport.webSocket("/socket", .echo)
        let session = Session(configuration: SessionConfiguration { $0.cache = ResponseCache() }, transport: transport)
        let socket = session.webSocket("wss://example.org/socket")
        try await socket.send("one")
        for try await message in socket.messages {
            #expect(message == .text("one"))
            break
        }
        try await eventually { transport.runningCount == 0 }
    }

    @Test(
        "faults of a mocked server end the WebSocket with their errors",
        arguments: [
            ([.raw(Data([0x81, 0x81, 1, 2, 3, 4, 5]))], .protocolViolation),
            ([.cut], .webSocketClosed), ([.raw(Data([0x82, 10, 1, 2])), .cut], .webSocketClosed),
            ([.reset], .receiveFailed), ([.silence], .idleTimedOut), ([.close(.internalServerError)], .webSocketClosed),
        ] as [([Script.Step], CurlewError.Code)])
    func faults(steps: [Script.Step], code: CurlewError.Code) async throws {
        let (socket, transport) = Self.socket(Script(steps)) {
            $0.closeTimeout = .milliseconds(100)
            // Pings only in this case: a busy machine must not be mistaken for a silent server.
            guard code == .idleTimedOut else { return }
            $0.pingInterval = .milliseconds(10)
            $0.pongTimeout = .milliseconds(100)
        }
        #expect(await socket.readToEnd().error?.code == code)
        try await eventually { transport.runningCount == 0 }
    }

    @Test("a mocked server sends a message when the test opens its gate")
    func gates() async throws {
        let gate = Gate()
        let (socket, _) = Self.socket(Script([.wait(gate), .send(.text("now")), .close(.normalClosure)]))
        try await socket.opened()
        try await gate.waitForArrivals(count: 1)
        gate.open()
        var seen: [WebSocketMessage] = []
        for try await message in socket.messages { seen.append(message) }
        #expect(seen == [.text("now")])
    }

    private struct Price: Codable, Equatable, Sendable { var cents: Int }

    @Test("messages are decoded one by one or as a sequence, with the given decoder")
    func decodes() async throws {
        let messages: [WebSocketMessage] = [.text(#"{"cents":1}"#), .data(Data(#"{"cents":2}"#.utf8))]
        let (socket, transport) = Self.socket(Script([.send(messages[0]), .send(messages[1]), .close(.normalClosure)]))
        var prices: [Price] = []
        for try await price in socket.messages.decode(Price.self) { prices.append(price) }
        #expect(prices == [Price(cents: 1), Price(cents: 2)])
        #expect(try messages.map { try $0.decode(Price.self) } == prices)
        let list = try PropertyListEncoder().encode(Price(cents: 3))
        #expect(try WebSocketMessage.data(list).decode(Price.self, decoder: PropertyListDecoder()) == Price(cents: 3))
        try await eventually { transport.runningCount == 0 }
    }

    @Test("a message that does not decode ends the sequence of values and the WebSocket")
    func failsToDecode() async throws {
        let (socket, transport) = Self.socket(
            Script([.send(.text(#"{"cents":1}"#)), .send(.text("{")), .send(.text(#"{"cents":2}"#)), .echo]))
        var values = socket.messages.decode(Price.self).makeAsyncIterator()
        #expect(try await values.next() == Price(cents: 1))
        do throws(CurlewError) {
            _ = try await values.next()
            Issue.record("no error")
        } catch {
            #expect(error.code == .decodingFailed && error.underlying is DecodingError)
        }
        #expect(try await values.next() == nil)
        try await eventually { transport.runningCount == 0 }
        let error = #expect(throws: CurlewError.self) { try WebSocketMessage.text("").decode(Price.self) }
        #expect(error?.code == .decodingFailed)
    }

    @Test("a handshake to a path without a WebSocket gets the mock's ordinary response")
    func answers() async throws {
        let transport = MockTransport { request in
            switch request.path {
            case "/moved": .redirect(to: "/socket", status: 307)
            case "/failing": .failing(CurlewError(.connectFailed, phase: .connect))
            default: .text("no", status: 403)
            }
        }
        transport.webSocket("/socket", .echo)
        let session = Session(transport: transport)
        let moved = session.webSocket("ws://example.org/moved")
        try await moved.ping()
        try await moved.close()
        #expect(transport.requests.map(\.path) == ["/moved", "/socket"])
        #expect(transport.requests.last?.headers["Sec-WebSocket-Version"] == "13")
        let refused = await #expect(throws: CurlewError.self) {
            try await session.webSocket("ws://example.org/x").opened()
        }
        #expect(refused?.code == .webSocketRefused && refused?.responseCode == 403)
        #expect(refused?.responseBody == Data("no".utf8))
        let failing = await #expect(throws: CurlewError.self) {
            try await session.webSocket("ws://example.org/failing").opened()
        }
        #expect(failing?.code == .connectFailed)
    }

    @Test(
        "cancelling a WebSocket or invalidating its session ends the mocked server's script", arguments: [false, true])
    func ends(invalidates: Bool) async throws {
        let transport = MockTransport()
        transport.webSocket("/socket", Script([.wait(Gate())]))
        let session = Session(transport: transport)
        let socket = session.webSocket("ws://example.org/socket")
        try await socket.opened()
        #expect(transport.runningCount == 1)
        if invalidates { await session.invalidate() } else { socket.cancel() }
        #expect(await socket.readToEnd().error?.code == (invalidates ? .sessionClosed : .cancelled))
        try await eventually { transport.runningCount == 0 }
    }
}
