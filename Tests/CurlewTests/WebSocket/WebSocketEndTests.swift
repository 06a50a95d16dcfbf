internal import CurlewCore
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

/// The ends of WebSockets after failed writes, violations of the protocol, and failed openings.
@Suite("WebSocket ends", .timeLimit(.minutes(4)))
struct WebSocketEndTests {
    typealias Script = TestServer.WebSocketScript

    // MARK: A write fails

    @Test("the server's messages and close frame are still read after a failed write", arguments: [true, false])
    func failedWrite(saysWhy: Bool) async throws {
        let gate = Gate()
        let transport = ScriptedTransport { peer in
            await peer.accept()
            peer.wire.incoming.close()
            try? await gate.wait()
            await peer.send("last")
            if saysWhy { await peer.close(1013, "later") } else { peer.wire.close() }
        }
        let socket = Session(transport: transport).webSocket("ws://example.org") { $0.closeTimeout = .seconds(60) }
        try await socket.opened()
        // The first message is queued and its write fails. After that, every `send` throws.
        try await eventually { transport.wires[0].outgoing.isClosed }
        try await socket.send("x")
        while (try? await socket.send("y")) != nil {}
        #expect(socket.closeCode == nil)
        gate.open()
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("last"))
        let error = await #expect(throws: CurlewError.self) { try await messages.next() }
        #expect(error?.code == (saysWhy ? .webSocketClosed : .sendFailed))
        #expect(socket.closeCode == (saysWhy ? .tryAgainLater : .abnormalClosure))
        #expect(socket.closeReason == (saysWhy ? "later" : nil))
        await transport.scriptsEnded()
    }

    @Test("a silent server is waited for only until closeTimeout after a failed write")
    func failedWriteInSilence() async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            peer.wire.incoming.close()
            await peer.wire.outgoing.untilClosed()
        }
        let socket = Session(transport: transport).webSocket("ws://example.org") {
            $0.closeTimeout = .milliseconds(30)
        }
        try await socket.opened()
        // A message that is sent earlier would be delivered, and nothing would fail.
        try await eventually { transport.wires[0].outgoing.isClosed }
        try await socket.send("x")
        #expect(await socket.readToEnd().error?.code == .sendFailed)
        await transport.scriptsEnded()
    }

    // MARK: The peer breaks the protocol

    @Test("a server that broke the protocol receives the close code although its data is unread")
    func violationIsTold() async throws {
        let told = Watched<WebSocketCloseCode?>(nil)
        let server = try TestServer()
        let script = Script([.raw(Data([0xF1, 0])), .raw(Data(count: 4_000_000))]).changed {
            $0.onClose = { code, _ in told.change { $0 = code } }
        }
        server.webSocket("/socket", script)
        let socket = Session().webSocket(server.url("/socket"))
        #expect(await socket.readToEnd().error?.code == .protocolViolation)
        try await eventually { told.value != nil }
        #expect(told.value == .protocolError)
        try await eventually { socket.isFinished }
    }

    @Test("a server that sends without end after it broke the protocol is abandoned")
    func violationWithoutEnd() async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            await peer.raw([0xF1, 0])
            while await peer.wire.outgoing.write([UInt8](repeating: 0, count: 1000)) {}
        }
        let socket = Session(transport: transport).webSocket("ws://example.org") {
            $0.closeTimeout = .milliseconds(30)
        }
        #expect(await socket.readToEnd().error?.code == .protocolViolation)
        try await eventually { socket.isFinished }
        await transport.scriptsEnded()
    }

    // MARK: The opening

    @Test("ws becomes wss for a host with an HSTS policy")
    func hsts() async throws {
        let store = HSTSStore()
        let asked = try #require(URL(string: "https://example.org"))
        store.receive(["Strict-Transport-Security": "max-age=1000"], from: asked)
        let transport = ScriptedTransport {
            await $0.accept()
            await $0.echo()
        }
        let session = Session(configuration: SessionConfiguration { $0.hsts = store }, transport: transport)
        for url in ["ws://example.org/a", "ws://other.example/b"] {
            let socket = session.webSocket(url)
            try await socket.opened()
            try await socket.close()
        }
        #expect(transport.urls.map(\.absoluteString) == ["https://example.org/a", "http://other.example/b"])
    }

    @Test("a 401 is an error with its body, unless an interceptor retries it with new credentials")
    func unauthorized() async throws {
        let server = try TestServer()
        server.route("/socket") { request in
            guard request.headers["Authorization"] == "Bearer new" else { return .text("who?", status: 401) }
            return .webSocket(.echo, for: request)
        }
        let session = Session()
        let refused = await #expect(throws: CurlewError.self) {
            try await session.webSocket(server.url("/socket")).opened()
        }
        #expect(refused?.responseCode == 401 && refused?.responseBody == Data("who?".utf8))
        let token = Watched("old")
        let socket = session.webSocket(server.url("/socket"), interceptor: .renewing(token))
        try await socket.ping()
        try await socket.close()
        #expect(socket.retryCount == 1)
    }

    @Test("a server that speaks only HTTP/2 is unsupported")
    func http2() async throws {
        let transport = ScriptedTransport { peer in
            // The preface of an HTTP/2 server: a SETTINGS frame with one setting. It does not depend on the client.
            await peer.raw([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1])
            _ = await peer.readRequest()
        }
        let error = await #expect(throws: CurlewError.self) {
            try await Session(transport: transport).webSocket("ws://example.org").opened()
        }
        #expect(error?.code == .unsupported)
    }

    @Test(
        "a server that refuses HTTP/1.1 over TLS is unsupported; other TLS failures keep their code",
        arguments: [true, false])
    func refusedProtocol(isProtocol: Bool) async throws {
        var failure = CurlewError(.tlsFailed, phase: .tls, reason: "handshake failure")
        if isProtocol { failure.detail = .noSharedProtocol }
        let error = await #expect(throws: CurlewError.self) {
            try await Session(transport: FailingConnector(failure: failure)).webSocket("wss://example.org").opened()
        }
        #expect(error?.code == (isProtocol ? .unsupported : .tlsFailed))
        #expect((error?.underlying is CurlewError) == isProtocol)
    }
}

/// A transport that cannot connect.
private struct FailingConnector: ConnectTransport {
    let failure: CurlewError

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        throw failure
    }

    func connect(_ request: TransferRequest, sendBuffer: Int) async throws(CurlewError) -> any ByteConnection {
        throw failure
    }
}
