import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// The session stays alive and nothing can read the body: the transfer ends, and its connection is freed.
@Suite("Streams and WebSockets that are dropped", .timeLimit(.minutes(2)))
struct DroppedStreamTests {
    let session = Session()
    let server: TestServer

    init() throws {
        var configuration = TestServer.Configuration()
        configuration.sendBufferSize = 64 << 10
        server = try TestServer(configuration)
        server.routeEndlessBody()
    }

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

    @Test("of which the head was asked for")
    func head() async throws {
        try await use { _ in }
        try await isOver()
    }

    @Test("that was resumed, and whose head was asked for or not", arguments: [false, true])
    func resumed(_ asksForHead: Bool) async throws {
        func use() async throws {
            let request = stream().resume()
            if asksForHead { _ = try await request.head() } else { try await server.waitForConnections(count: 1) }
        }
        try await use()
        try await isOver()
    }

    @Test("that was resumed, suspended, and dropped")
    func suspended() async throws {
        func use() async throws {
            let request = stream().resume()
            try await server.waitForConnections(count: 1)
            request.suspend()
        }
        try await use()
        try await isOver()
    }

    @Test("of which no task waits for the head any more")
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

    @Test("a task that waits for the head keeps it")
    func keptByHead() async throws {
        let gate = Gate()
        server.script("/late", .bytes(10).stalling(until: gate, at: .beforeHead))
        let url = server.url("/late")
        let task = Task { [session] in try await session.streamRequest(url).head().status }
        try await server.waitForRequests(count: 1)
        gate.open()
        #expect(try await task.value == 200)
    }

    @Test("more than there are connections to a host")
    func many() async throws {
        let few = Session(configuration: SessionConfiguration { $0.maximumConnectionsPerHost = 2 })
        for _ in 0..<8 {
            let request = few.streamRequest(server.url("/endless"))
            #expect(try await request.head().status == 200)
        }
        try await isOver(few)
    }

    @Test("with a sequence that is not iterated")
    func sequence() async throws {
        try await use { _ = ($0.chunks, $0.lines, $0.events) }
        try await isOver()
    }

    @Test("with an iterator that has or has not read", arguments: [0, 1, 3])
    func iterator(_ count: Int) async throws {
        try await use { request in
            var chunks = request.chunks.makeAsyncIterator()
            for _ in 0..<count { _ = try await chunks.next() }
        }
        try await isOver()
    }

    @Test("with a task that is cancelled as it reads")
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

    @Test("with a sequence or an iterator alone the stream goes on")
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

    @Test("with a handler the stream goes on")
    func keptByHandler() async throws {
        let read = Lock(0)
        try await use { request in
            request.responseStream(on: .global()) { stream in read.withLock { $0 += stream.value?.count ?? 0 } }
        }
        try await eventually { read.withLock { $0 } > 4 << 20 }
        await session.cancelAllRequests()
        try await isOver()
    }

    /// The run that `resume()` starts has another handle than the user, to whose handle the handler's token refers.
    @Test("with a handler that was added after the start the stream goes on, and the handler can end it")
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

    @Test("a request that is found in the session's list is the user's")
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

    @Test("a WebSocket that was opened, or has sent", arguments: [false, true])
    func webSocket(_ sends: Bool) async throws {
        func use() async throws {
            let socket = try socket()
            if sends { try await socket.send("x") } else { _ = try await socket.opened() }
        }
        try await use()
        try await isOver()
    }

    @Test("a WebSocket that was resumed, open or not", arguments: [false, true])
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

    @Test("a WebSocket that connects, and that no task waits for any more")
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

    @Test("a WebSocket whose iterator is dropped after a message, or before", arguments: [0, 1])
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

    @Test("a WebSocket that waits to reconnect, or reconnects", arguments: [false, true])
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

    @Test("a WebSocket that its hook keeps stays open")
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

    @Test("a WebSocket with handlers stays open")
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
