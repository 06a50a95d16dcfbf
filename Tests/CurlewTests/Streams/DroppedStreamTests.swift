import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// A stream or a WebSocket is dropped while its session stays alive. Nothing can read the body then, so the transfer
/// ends and its connection is freed.
@Suite("Streams and WebSockets that are dropped", .timeLimit(.minutes(2)))
struct DroppedStreamTests {
    let session = Session()
    let server: TestServer

    init() throws { server = try TestServer.endless() }

    private func stream() -> DataStreamRequest { session.streamRequest(server.url("/endless")) }

    /// Expects that no request of the session is left, on either side.
    private func isOver(_ session: Session? = nil) async throws {
        let registry = (session ?? self.session).registry
        try await server.waitForOpenConnections(atMost: 0)
        try await eventually { registry.withLock { $0.activeRequests.isEmpty } }
    }

    /// A separate function, so that no local variable of the test keeps the request.
    private func use(_ body: (DataStreamRequest) async throws -> Void) async throws {
        let request = stream()
        _ = try await request.head()
        try await body(request)
    }

    @Test("a stream whose head was awaited ends when it is dropped")
    func head() async throws {
        try await use { _ in }
        try await isOver()
    }

    @Test("a stream that was resumed ends when it is dropped", arguments: [false, true])
    func resumed(_ asksForHead: Bool) async throws {
        func use() async throws {
            let request = stream().resume()
            if asksForHead { _ = try await request.head() } else { try await server.waitForConnections(count: 1) }
        }
        try await use()
        try await isOver()
    }

    @Test("a stream that was resumed and suspended ends when it is dropped")
    func suspended() async throws {
        func use() async throws {
            let request = stream().resume()
            try await server.waitForConnections(count: 1)
            request.suspend()
        }
        try await use()
        try await isOver()
    }

    @Test("a stream ends when the only task that waits for its head is cancelled")
    func beforeTheHead() async throws {
        let gate = Gate()
        server.script("/late", .bytes(10).stalling(until: gate, at: .beforeHead))
        let url = server.url("/late")
        let task = Task { [session] in try await session.streamRequest(url).head().status }
        try await server.waitForRequests(count: 1)
        #expect(await session.activeRequests.count == 1)
        task.cancel()
        await #expect(throws: CurlewError.self) { try await task.value }
        // The server notices that the client has left.
        gate.open()
        try await isOver()
    }

    @Test("a task that waits for the head keeps the stream")
    func keptByHead() async throws {
        let gate = Gate()
        server.script("/late", .bytes(10).stalling(until: gate, at: .beforeHead))
        let url = server.url("/late")
        let task = Task { [session] in try await session.streamRequest(url).head().status }
        try await server.waitForRequests(count: 1)
        gate.open()
        #expect(try await task.value == 200)
    }

    @Test("dropped streams free their connections for other streams to the host")
    func many() async throws {
        let few = Session(configuration: SessionConfiguration { $0.maximumConnectionsPerHost = 2 })
        for _ in 0..<8 {
            let request = few.streamRequest(server.url("/endless"))
            #expect(try await request.head().status == 200)
        }
        try await isOver(few)
    }

    @Test("streams over HTTP/2 end when they are dropped, and their connection serves other requests")
    func http2() async throws {
        var configuration = TestServer.Configuration()
        configuration.tls = TestServer.TLS()
        configuration.protocols = [.http2]
        let server = try TestServer(configuration)
        server.routeEndlessBody()
        let roots = server.trustRoots
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.tls.trustRoots = roots
            })
        func use() async throws {
            for _ in 0..<8 { _ = try await session.streamRequest(server.url("/endless")).head() }
        }
        try await use()
        let registry = session.registry
        try await eventually { registry.withLock { $0.activeRequests.isEmpty } }
        while await session.connections.totals.inUse > 0 { try await Task.sleep(for: .milliseconds(2)) }
        let request = session.request(server.url("/get"))
        _ = try await request.data()
        #expect(request.head?.version == .http2 && request.metrics?.isConnectionReused == true)
        #expect(server.connectionCount < 8)
    }

    @Test("a stream ends when it is dropped with sequences that were not iterated")
    func sequence() async throws {
        try await use { _ = ($0.chunks, $0.lines, $0.events) }
        try await isOver()
    }

    @Test("a stream ends when it is dropped with its iterator", arguments: [0, 1, 3])
    func iterator(_ count: Int) async throws {
        try await use { request in
            var chunks = request.chunks.makeAsyncIterator()
            for _ in 0..<count { _ = try await chunks.next() }
        }
        try await isOver()
    }

    @Test("a stream ends when the task that reads it is cancelled")
    func cancelledTask() async throws {
        let reading = Gate()
        let task = Task {
            try await use { request in
                for try await _ in request.chunks { reading.open() }
            }
        }
        try await reading.wait()
        task.cancel()
        await #expect(throws: CurlewError.self) { try await task.value }
        try await isOver()
    }

    @Test("a stream continues while only its sequence or iterator is held")
    func keptBySequence() async throws {
        let chunks = Lock<StreamChunks?>(nil)
        try await use { request in chunks.withLock { $0 = request.chunks } }
        var read = 0
        if let chunks = chunks.withLock({ exchange(&$0, with: nil) }) {
            for try await chunk in chunks {
                read += chunk.count
                if read > 4 << 20 { break }
            }
        }
        #expect(read > 4 << 20)
        try await isOver()
    }

    @Test("a dropped stream with a handler continues")
    func keptByHandler() async throws {
        let read = Lock(0)
        try await use { request in
            request.responseStream(on: .global()) { stream in read.withLock { $0 += stream.value?.count ?? 0 } }
        }
        try await eventually { read.withLock { $0 } > 4 << 20 }
        await session.cancelAllRequests()
        try await isOver()
    }

    /// The run that `resume()` starts has a different handle than the user. The handler's token refers to the user's.
    @Test("a dropped stream with a handler added after its start continues until the handler cancels it")
    func keptByLateHandler() async throws {
        let read = Lock(0)
        func use() async throws {
            let request = stream().resume()
            try await server.waitForConnections(count: 1)
            request.responseStream(on: .global()) { stream in
                let count = read.withLock { count in
                    count += stream.value?.count ?? 0
                    return count
                }
                if count > 4 << 20 { stream.cancel() }
            }
        }
        try await use()
        try await isOver()
        #expect(read.withLock { $0 } > 4 << 20)
    }

    @Test("activeRequests contains the user's own request object")
    func listed() async throws {
        try await use { request in
            let active = await session.activeRequests
            #expect(active.count == 1 && active.first === request)
        }
        try await isOver()
    }

    // MARK: WebSockets

    private func socket() throws -> WebSocketRequest {
        server.webSocket("/socket", .echo)
        return session.webSocket(server.url("/socket"))
    }

    @Test("a WebSocket that was opened or has sent ends when it is dropped", arguments: [false, true])
    func webSocket(_ sends: Bool) async throws {
        func use() async throws {
            let socket = try socket()
            if sends { try await socket.send("x") } else { _ = try await socket.opened() }
        }
        try await use()
        try await isOver()
    }

    @Test("a WebSocket that was resumed ends when it is dropped, open or not", arguments: [false, true])
    func resumedWebSocket(_ isOpen: Bool) async throws {
        if !isOpen { server.script("/socket", .hanging) }
        func use() async throws {
            let socket = (isOpen ? try socket() : session.webSocket(server.url("/socket"))).resume()
            try await server.waitForConnections(count: 1)
            if isOpen { _ = try await socket.opened() }
        }
        try await use()
        try await isOver()
    }

    @Test("a connecting WebSocket ends when the only task that waits for it is cancelled")
    func connectingWebSocket() async throws {
        server.script("/socket", .hanging)
        let url = server.url("/socket")
        let task = Task { [session] in try await session.webSocket(url).opened().status }
        try await server.waitForConnections(count: 1)
        #expect(await session.activeRequests.count == 1)
        task.cancel()
        await #expect(throws: CurlewError.self) { try await task.value }
        try await isOver()
    }

    @Test("a WebSocket ends when its iterator is dropped, before or after a message", arguments: [0, 1])
    func webSocketIterator(_ count: Int) async throws {
        func use() async throws {
            let socket = try socket()
            try await socket.send("x")
            var messages = socket.messages.makeAsyncIterator()
            for _ in 0..<count { _ = try await messages.next() }
        }
        try await use()
        try await isOver()
    }

    @Test("a WebSocket that waits to reconnect or reconnects ends when it is dropped", arguments: [false, true])
    func reconnectingWebSocket(_ isConnecting: Bool) async throws {
        let delay = isConnecting ? Duration.milliseconds(100) : .seconds(3600)
        server.webSocket("/socket", TestServer.WebSocketScript([.close(.serviceRestart)]))
        func use() async throws {
            let socket = session.webSocket(server.url("/socket"))
                .reconnecting(ReconnectionPolicy(initialDelay: delay, maximumDelay: delay, jitter: .none))
            _ = try await socket.opened()
            // No later handshake is answered.
            server.script("/socket", Array(repeating: .hanging, count: 10))
            if isConnecting { try await server.waitForConnections(count: 2) }
            try await server.waitForOpenConnections(atMost: isConnecting ? 1 : 0)
            #expect(await session.activeRequests.count == 1)
        }
        try await use()
        try await isOver()
    }

    @Test("a WebSocket that its hook has stored stays open until it is released")
    func keptByHook() async throws {
        let kept = Lock<WebSocketRequest?>(nil)
        func use() async throws {
            let socket = try socket().reconnecting { socket in kept.withLock { $0 = socket } }
            _ = try await socket.opened()
        }
        try await use()
        #expect(await session.activeRequests.first === kept.withLock { $0 })
        try await kept.withLock { $0 }?.send("x")
        _ = kept.withLock { exchange(&$0, with: nil) }
        try await isOver()
    }

    @Test("a dropped WebSocket with handlers stays open")
    func webSocketWithHandlers() async throws {
        let echoed = Gate()
        // Handlers do not start this WebSocket. `send` does, and its run does not hold the handle.
        let session = Session(startRequestsImmediately: false)
        func use() async throws {
            let socket = session.webSocket(server.url("/greeting"))
            socket.observe(socket.delivery(on: .global())) { occurrence in
                guard case .received = occurrence else { return nil }
                return { echoed.open() }
            }
            try await socket.send("x")
        }
        let send = Gate()
        server.webSocket(
            "/greeting", TestServer.WebSocketScript([.receive(1), .wait(send), .send(.text("y")), .receive(1)]))
        try await use()
        send.open()
        try await eventually(within: .seconds(10)) { echoed.isOpen }
        #expect(await session.activeRequests.count == 1)
        await session.cancelAllRequests()
        try await isOver(session)
    }
}
