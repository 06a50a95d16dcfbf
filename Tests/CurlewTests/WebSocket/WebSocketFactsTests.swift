import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite("Errors and metrics of WebSockets", .timeLimit(.minutes(4)))
struct WebSocketFactsTests {
    private typealias Script = TestServer.WebSocketScript

    private static func server(_ script: Script) throws -> TestServer {
        let server = try TestServer()
        server.webSocket("/socket", script)
        return server
    }

    @Test(
        "the errors of an open WebSocket name its URL and have metrics",
        arguments: [
            (Script([.cut]), .webSocketClosed), (Script([.close(.internalServerError)]), .webSocketClosed),
            (Script([.raw(Data([0xF1, 0]))]), .protocolViolation),
            (Script([.send(.text("eleven bytes"))]), .limitExceeded),
        ] as [(TestServer.WebSocketScript, CurlewError.Code)])
    func location(script: TestServer.WebSocketScript, code: CurlewError.Code) async throws {
        let server = try Self.server(script)
        let socket = Session().webSocket(server.url("/socket")) { $0.maximumMessageSize = 10 }
        let error = await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
        #expect(error?.code == code)
        #expect(error?.url == server.url("/socket"))
        try await eventually { socket.isFinished }
        #expect(socket.error?.metrics?.connected != nil)
        let later = await #expect(throws: CurlewError.self) { try await socket.send("late") }
        #expect(later?.url == server.url("/socket"))
    }

    @Test("sending after the own close() is an error that names this side")
    func ownClose() async throws {
        let server = try Self.server(.echo)
        let socket = Session().webSocket(server.url("/socket"))
        try await socket.opened()
        try await socket.close()
        let error = await #expect(throws: CurlewError.self) { try await socket.send("late") }
        #expect(error?.code == .webSocketClosed)
        #expect(error?.closeCode == .normalClosure)
        #expect(error?.description.contains("this side has closed the WebSocket") == true)
    }

    @Test("metrics count the bytes of the handshake and of the messages", arguments: [false, true])
    func bytes(isMock: Bool) async throws {
        let script = Script([.receive(1), .send(.data(Data(count: 100_000))), .close(.normalClosure)])
        let (server, mock) = (try Self.server(script), MockTransport())
        mock.webSocket("/socket", script)
        let socket = Session(transport: isMock ? mock : nil)
            .webSocket(isMock ? "ws://example.org/socket" : server.url("/socket").absoluteString) {
                $0.compression = .off
            }
        try await socket.send(Data(count: 50_000))
        for try await _ in socket.messages {}
        try await eventually { socket.isFinished }
        let metrics = try #require(socket.metrics)
        #expect((50_000..<51_000).contains(metrics.bytesSent))
        #expect((100_000..<101_000).contains(metrics.bytesReceived))
        if !isMock {
            try await server.waitForBytesReceived(metrics.bytesSent)
            #expect(metrics.bytesSent == server.bytesReceived)
            #expect(metrics.bytesReceived == server.bytesSent)
        }
    }

    @Test("a handshake follows redirects to ws and http URLs", arguments: ["ws", "http"])
    func redirect(scheme: String) async throws {
        let server = try Self.server(.echo)
        server.route("/old") { [port = server.port] _ in .redirect(to: "\(scheme)://127.0.0.1:\(port)/socket") }
        let socket = Session().webSocket(server.url("/old"))
        #expect(try await socket.opened().status == 101)
        #expect(server.requests.map(\.path) == ["/old", "/socket"])
    }
}
