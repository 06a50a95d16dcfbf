internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Testing

@testable import Curlew
@testable import CurlewTesting

/// A WebSocket is dropped while its session stays alive: the connection is freed although the server never answers the
/// close frame. A closing handshake would take an hour.
@Suite("WebSockets that are dropped", .timeLimit(.minutes(2)))
struct DroppedWebSocketTests {
    private let session = Session()
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.webSocket("/silent", TestServer.WebSocketScript([.send(.text("x")), .silence]))
    }

    private func socket() -> WebSocketRequest {
        session.webSocket(server.url("/silent")) { $0.closeTimeout = .seconds(3600) }
    }

    /// Expects that no request of the session is left, on either side.
    private func isOver() async throws {
        let registry = session.registry
        try await server.waitForOpenConnections(atMost: 0)
        try await eventually { registry.withLock { $0.activeRequests.isEmpty } }
    }

    // MARK: Ways to drop

    @Test("a WebSocket ends when its request is dropped")
    func request() async throws {
        func use() async throws { _ = try await socket().opened() }
        try await use()
        try await isOver()
    }

    @Test("a WebSocket ends when its request is dropped while messages wait to be sent")
    func requestWithQueue() async throws {
        let reads = Gate()
        server.webSocket("/full", TestServer.WebSocketScript([.wait(reads), .receive(1)]))
        func use() async throws {
            let socket = session.webSocket(server.url("/full")) { $0.closeTimeout = .seconds(3600) }
            // More than both sides' sockets hold.
            try await socket.send(Data(count: 16 << 20))
        }
        try await use()
        let registry = session.registry
        try await eventually { registry.withLock { $0.activeRequests.isEmpty } }
        // The server sees the end of the connection after the part of the message that the sockets hold.
        reads.open()
        try await isOver()
    }

    @Test("a resumed WebSocket of a session that starts no requests ends when it is dropped", arguments: [false, true])
    func resumedRequest(_ isOpen: Bool) async throws {
        let session = Session(startRequestsImmediately: false)
        func use() async throws {
            let socket = session.webSocket(server.url("/silent")) { $0.closeTimeout = .seconds(3600) }.resume()
            if isOpen { try await socket.opened() } else { try await server.waitForConnections(count: 1) }
        }
        try await use()
        try await server.waitForOpenConnections(atMost: 0)
        try await eventually { session.registry.withLock { $0.activeRequests.isEmpty } }
    }

    @Test("a WebSocket ends only when its sequence of messages is dropped too")
    func sequence() async throws {
        let kept = Lock<WebSocketMessages?>(nil)
        func use() async throws {
            let socket = socket()
            try await socket.opened()
            kept.withLock { $0 = socket.messages }
        }
        try await use()
        #expect(await session.activeRequests.count == 1)
        _ = kept.withLock { exchange(&$0, with: nil) }
        try await isOver()
    }

    @Test("a WebSocket ends only when its iterator is dropped too", arguments: [0, 1])
    func iterator(_ count: Int) async throws {
        func use() async throws {
            var messages: WebSocketMessages.Iterator
            do {
                let socket = socket()
                try await socket.opened()
                messages = socket.messages.makeAsyncIterator()
            }
            #expect(await session.activeRequests.count == 1)
            for _ in 0..<count { #expect(try await messages.next() == .text("x")) }
        }
        try await use()
        try await isOver()
    }

    @Test("a WebSocket ends when its loop was left and its request is dropped")
    func loop() async throws {
        func use() async throws {
            let socket = socket()
            for try await _ in socket.messages { break }
            #expect(socket.link.isClosing && socket.closeCode == nil)
        }
        try await use()
        try await isOver()
    }

    enum Wait: CaseIterable { case message, pong, close }

    @Test("a WebSocket ends when the task that holds it and waits is cancelled", arguments: Wait.allCases)
    func cancelledTask(_ wait: Wait) async throws {
        let waits = Gate()
        let task = Task {
            let socket = socket()
            var messages = socket.messages.makeAsyncIterator()
            _ = try await messages.next()
            waits.open()
            switch wait {
            case .message: _ = try await messages.next()
            case .pong: try await socket.ping()
            case .close: try await socket.close()
            }
        }
        try await waits.wait()
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        try await isOver()
    }

    @Test("a WebSocket ends when the task that holds it and waits for room to send is cancelled")
    func cancelledSender() async throws {
        let (waits, reads) = (Gate(), Gate())
        server.webSocket("/full", TestServer.WebSocketScript([.wait(reads), .receive(1)]))
        let task = Task {
            let socket = session.webSocket(server.url("/full")) { $0.closeTimeout = .seconds(3600) }
            // More than both sides' sockets hold.
            try await socket.send(Data(count: 16 << 20))
            waits.open()
            try await socket.send("waits")
        }
        try await waits.wait()
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        let registry = session.registry
        try await eventually { registry.withLock { $0.activeRequests.isEmpty } }
        reads.open()
        try await isOver()
    }

    /// libcurl encrypts what is sent, and cannot end one direction of a TLS connection.
    @Test("a WebSocket over TLS ends when it is dropped, whether or not messages wait to be sent", arguments: [0, 16])
    func secureRequest(_ megabytes: Int) async throws {
        var configuration = TestServer.Configuration()
        configuration.tls = TestServer.TLS()
        let server = try TestServer(configuration)
        let roots = server.trustRoots
        let session = Session(configuration: SessionConfiguration { $0.tls.trustRoots = roots })
        let reads = Gate()
        server.webSocket("/full", TestServer.WebSocketScript([.wait(reads), .receive(1)]))
        func use() async throws {
            let socket = session.webSocket(server.url("/full")) { $0.closeTimeout = .seconds(3600) }
            try await socket.opened()
            if megabytes > 0 { try await socket.send(Data(count: megabytes << 20)) }
        }
        try await use()
        let registry = session.registry
        try await eventually { registry.withLock { $0.activeRequests.isEmpty } }
        reads.open()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("a dropped WebSocket ends after a value that does not decode")
    func decoding() async throws {
        func use() async throws {
            for try await _ in socket().messages.decode(Int.self) {}
        }
        let error = await #expect(throws: CurlewError.self) { try await use() }
        #expect(error?.code == .decodingFailed)
        try await isOver()
    }

    @Test(
        "a dropped WebSocket ends although its server broke the protocol and keeps the connection",
        arguments: [false, true])
    func violated(isRead: Bool) async throws {
        server.webSocket("/broken", TestServer.WebSocketScript([.send(.text("x")), .raw(Data([0xF1, 0])), .silence]))
        func use() async throws {
            let socket = session.webSocket(server.url("/broken")) { $0.closeTimeout = .seconds(3600) }
            try await socket.opened()
            guard isRead else { return }
            await #expect(throws: CurlewError.self) { for try await _ in socket.messages {} }
            #expect(socket.closeCode == .protocolError)
        }
        try await use()
        try await isOver()
    }

    // MARK: Frames sent to the server

    @Test("a dropped WebSocket sends its accepted messages and a close frame, and awaits no answer")
    func acceptedMessages() async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            #expect(await peer.next() == .message(.text("one")))
            #expect(await peer.next() == .message(.text("two")))
            #expect(await peer.next() == .close(.normalClosure, reason: ""))
            // The end of the connection.
            #expect(await peer.next() == nil)
        }
        let session = Session(transport: transport)
        func use() async throws {
            let socket = session.webSocket("ws://example.org") { $0.closeTimeout = .seconds(3600) }
            try await socket.send("one")
            try await socket.send("two")
        }
        try await use()
        await transport.scriptsEnded()
        try await eventually { session.registry.withLock { $0.activeRequests.isEmpty } }
    }

    @Test("a dropped WebSocket does not reconnect")
    func reconnecting() async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            #expect(await peer.next() == .close(.normalClosure, reason: ""))
            #expect(await peer.next() == nil)
        }
        let session = Session(transport: transport)
        func use() async throws {
            let socket = session.webSocket("ws://example.org") { $0.closeTimeout = .seconds(3600) }
                .reconnecting(ReconnectionPolicy(initialDelay: .zero))
            try await socket.opened()
        }
        try await use()
        try await eventually { session.registry.withLock { $0.activeRequests.isEmpty } }
        await transport.scriptsEnded()
        #expect(transport.urls.count == 1)
    }

    // MARK: Owners that keep the connection

    @Test("a task that waits in close() keeps the closing handshake")
    func keptByClose() async throws {
        let (closed, answer) = (Gate(), Gate())
        let transport = ScriptedTransport { peer in
            await peer.accept()
            #expect(await peer.next() == .close(.goingAway, reason: "done"))
            closed.open()
            try? await answer.wait()
            await peer.close(1001)
            peer.wire.close()
        }
        let session = Session(transport: transport)
        let task = Task {
            let socket = session.webSocket("ws://example.org") { $0.closeTimeout = .seconds(3600) }
            try await socket.opened()
            try await socket.close(code: .goingAway, reason: "done")
            return socket.closeCode
        }
        try await closed.wait()
        #expect(await session.activeRequests.count == 1)
        answer.open()
        #expect(try await task.value == .goingAway)
        await transport.scriptsEnded()
    }

    @Test("a WebSocket whose request is held after its loop receives the server's close frame")
    func keptByRequest() async throws {
        let transport = ScriptedTransport { peer in
            await peer.accept()
            await peer.send("x")
            #expect(await peer.next() == .close(.normalClosure, reason: ""))
            await peer.close(1000, "bye")
            peer.wire.close()
        }
        let socket = Session(transport: transport).webSocket("ws://example.org") { $0.closeTimeout = .seconds(3600) }
        for try await _ in socket.messages { break }
        try await socket.close()
        #expect(socket.closeCode == .normalClosure && socket.closeReason == "bye")
        await transport.scriptsEnded()
    }
}
