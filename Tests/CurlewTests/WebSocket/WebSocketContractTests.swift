import Curlew
import CurlewTesting
import Foundation
import Testing

/// The contract of WebSockets, written as programs use it: no name here may change.
@Suite("WebSocket contract", .timeLimit(.minutes(4)))
struct WebSocketContractTests {
    private struct Order: Codable, Sendable, Equatable { let item: String }

    private static func server(_ script: TestServer.WebSocketScript = .echo) throws -> TestServer {
        let server = try TestServer()
        server.webSocket("/socket", script)
        return server
    }

    private static func url(_ server: TestServer, _ scheme: String) -> String {
        "\(scheme)://127.0.0.1:\(server.port)/socket"
    }

    @Test("a WebSocket opens with a ws or an http URL and exchanges messages", arguments: ["ws", "http"])
    func talks(scheme: String) async throws {
        let server = try Self.server(.echo.changed { $0.protocols = ["v2"] })
        let session = Session()
        let socket: WebSocketRequest = session.webSocket(
            Self.url(server, scheme), protocols: ["v2", "v1"], headers: ["X-Token": "1"],
            configure: { (options: inout WebSocketOptions) in options.pingInterval = .seconds(30) })
        let head: ResponseHead = try await socket.opened()
        #expect(head.status == 101)
        #expect(socket.selectedProtocol == "v2")
        #expect(server.requests.first?.headers["X-Token"] == "1")
        try await socket.send("…")
        try await socket.send(Data([1, 2]))
        try await socket.send(json: Order(item: "tea"))
        let roundTrip: Duration = try await socket.ping()
        #expect(roundTrip > .zero)
        var seen: [WebSocketMessage] = []
        for try await message in socket.messages {
            seen.append(message)
            if seen.count == 3 { break }
        }
        #expect(seen == [.text("…"), .data(Data([1, 2])), .text(#"{"item":"tea"}"#)])
    }

    @Test("closeCode is nil before close() and has the number of its code after it")
    func closes() async throws {
        let server = try Self.server()
        let socket = Session().webSocket(Self.url(server, "ws"))
        let before: WebSocketCloseCode? = socket.closeCode
        #expect(before == nil && socket.closeReason == nil)
        try await socket.opened()
        try await socket.close(code: .normalClosure, reason: nil)
        let number: UInt16? = socket.closeCode?.rawValue
        #expect(number == 1000)
        #expect(WebSocketCloseCode(rawValue: 4000).rawValue == 4000)
    }

    @Test("a close code other than 1000, 1001 or none is an error that contains it")
    func ends() async throws {
        for code in [1000, 1001] as [UInt16] {
            let server = try Self.server(.init([.close(.init(rawValue: code))]))
            for try await _ in Session().webSocket(Self.url(server, "ws")).messages {}
        }
        // A close frame without a code.
        let silent = try Self.server(.init([.raw(Data([0x88, 0]))]))
        let without = Session().webSocket(Self.url(silent, "ws"))
        for try await _ in without.messages {}
        #expect(without.closeCode == .noStatusReceived)

        let server = try Self.server(.init([.close(.init(rawValue: 4001), reason: "enough")]))
        do throws(CurlewError) {
            for try await _ in Session().webSocket(Self.url(server, "ws")).messages {}
            Issue.record("no error")
        } catch {
            #expect(error.code == .webSocketClosed)
            #expect(error.closeCode?.rawValue == 4001)
            #expect(error.closeReason == "enough")
        }
    }

    @Test("a response other than 101 is an error that contains its body")
    func refused() async throws {
        let server = try TestServer()
        server.route("/socket") { _ in .text("no sockets today", status: 503) }
        do throws(CurlewError) {
            try await Session().webSocket(Self.url(server, "ws")).opened()
            Issue.record("no error")
        } catch {
            #expect(error.code == .webSocketRefused)
            #expect(error.responseCode == 503)
            #expect(error.responseBody == Data("no sockets today".utf8))
        }
    }

    @Test("options have their defaults and can be set in the configuration and for each socket")
    func options() {
        let options = WebSocketOptions(
            maximumMessageSize: 16 * 1024 * 1024, compression: .negotiated, pingInterval: nil,
            pongTimeout: .seconds(20),
            closeTimeout: .seconds(5), sendBuffer: 1024 * 1024)
        #expect(options == WebSocketOptions())
        let session = Session(configuration: SessionConfiguration { $0.webSocket.compression = .off })
        #expect(session.webSocket("ws://example.org").options.compression == .off)
        let changed = session.webSocket("ws://example.org") { $0.sendBuffer = 1 }
        #expect(changed.options.sendBuffer == 1 && changed.options.compression == .off)
    }

    @Test("a protocol violation, a message above the limit and a missing pong have their error codes")
    func errors() async throws {
        // Pings only if they are the subject: a busy machine must not be mistaken for a silent server.
        func failure(_ script: TestServer.WebSocketScript, pings: Bool = false) async throws -> CurlewError? {
            let server = try Self.server(script)
            let socket = Session().webSocket(Self.url(server, "ws")) {
                $0.maximumMessageSize = 10
                guard pings else { return }
                $0.pingInterval = .milliseconds(10)
                $0.pongTimeout = .milliseconds(100)
            }
            return await socket.readToEnd().error
        }
        #expect(try await failure(.init([.raw(Data([0xF1, 0]))]))?.code == .protocolViolation)
        #expect(try await failure(.init([.send(.text("eleven bytes"))]))?.code == .limitExceeded)
        #expect(try await failure(.init([.silence]), pings: true)?.code == .idleTimedOut)
    }

    @Test("a lost WebSocket is opened again, and its hook is called each time")
    func reconnects() async throws {
        let server = try Self.server(.init([.receive(1), .send(.text("news")), .cut]))
        let socket = Session().webSocket(Self.url(server, "ws"))
            .reconnecting(
                ReconnectionPolicy(initialDelay: .milliseconds(1)),
                onOpen: { socket in try await socket.send("subscribe") })
        var news = 0
        for try await message in socket.messages {
            #expect(message == .text("news"))
            news += 1
            if news == 3 { break }
        }
        #expect(server.requests.count == 3)
    }

    @Test("a WebSocket of MockTransport exchanges messages and closes")
    func mock() async throws {
        let transport = MockTransport()
        transport.webSocket("/rooms/{id}", .init([.send(.text("hello")), .echo]))
        let socket = Session(transport: transport).webSocket("wss://example.org/rooms/7")
        try await socket.send("you")
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("hello"))
        #expect(try await messages.next() == .text("you"))
        try await socket.close()
        #expect(transport.requests.first?.path == "/rooms/7")
    }
}
