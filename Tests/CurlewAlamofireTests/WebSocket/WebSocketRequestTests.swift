import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// WebSockets with Alamofire's names, defaults and order of events.
@Suite("WebSocketRequest with Alamofire's API", .timeLimit(.minutes(4)))
struct WebSocketRequestTests {
    typealias Script = TestServer.WebSocketScript
    typealias Message = URLSessionWebSocketTask.Message

    private struct Value: Codable, Sendable, Equatable { let name: String }

    private static func server(_ script: Script) throws -> TestServer {
        let server = try TestServer()
        server.webSocket("/websocket", script)
        return server
    }

    private static let json = WebSocketMessage.text(#"{"name":"Ada"}"#)

    // MARK: The order of events

    @Test(
        "events arrive in the order connected, messages, disconnected, completed",
        arguments: [.normalClosure, .goingAway] as [WebSocketCloseCode])
    func order(code: WebSocketCloseCode) async throws {
        let server = try Self.server(Script([.send(.text("one")), .send(.data(Data([2]))), .close(code)]))
        let log = Log()
        let request = Session().webSocketRequest(to: server.url("/websocket")).streamMessageEvents { log.add($0.kind) }
        try await eventually { log.hasCompleted }
        #expect(
            log.lines == [
                "connected nil", "string one", "data 1", "disconnected \(code.rawValue) nil", "completed nil",
            ])
        #expect(log.completion?.response?.statusCode == 101)
        #expect(log.completion?.request?.url?.path == "/websocket")
        #expect(log.completion?.metrics != nil)
        try await eventually { request.isFinished }
    }

    @Test("closing from a handler disconnects and completes without an error")
    func closing() async throws {
        let server = try Self.server(Script([.send(.text("one")), .echo]))
        let log = Log()
        let request = Session().webSocketRequest(to: server.url("/websocket"))
        request.streamMessageEvents { event in
            log.add(event.kind)
            if event.message != nil { event.close(sending: .goingAway, reason: Data("done".utf8)) }
        }
        try await eventually { log.hasCompleted }
        #expect(log.lines == ["connected nil", "string one", "disconnected 1001 nil", "completed nil"])
    }

    @Test("closing before the WebSocket is open completes without an error")
    func closingEarly() async throws {
        let transport = MockTransport()
        transport.route("/websocket") { _ in .hanging }
        let log = Log()
        let request = Session(transport: transport).webSocketRequest(to: "wss://example.org/websocket")
        request.streamMessageEvents { log.add($0.kind) }
        try await transport.waitForRequests(count: 1)
        request.close(sending: .normalClosure)
        try await eventually { log.hasCompleted }
        #expect(log.lines == ["completed nil"])
    }

    @Test("cancelling completes with an error, without a disconnected event")
    func cancelling() async throws {
        let server = try Self.server(.echo)
        let log = Log()
        Session().webSocketRequest(to: server.url("/websocket")).streamMessageEvents { event in
            log.add(event.kind)
            if case .connected = event.kind { event.cancel() }
        }
        try await eventually { log.hasCompleted }
        #expect(log.lines == ["connected nil", "completed cancelled"])
        #expect(log.completion?.error?.isExplicitlyCancelledError == true)
    }

    @Test("a message above the maximum size completes the request with an error")
    func tooLarge() async throws {
        let server = try Self.server(Script([.send(.text("two"))]))
        let log = Log()
        Session().webSocketRequest(to: server.url("/websocket"), configuration: .maximumMessageSize(1))
            .streamMessageEvents { log.add($0.kind) }
        try await eventually { log.hasCompleted }
        #expect(log.lines == ["connected nil", "completed limitExceeded"])
    }

    @Test(
        "a refused handshake completes the request with an error, unless a retrier repeats it",
        arguments: [false, true])
    func refused(isRetried: Bool) async throws {
        let server = try TestServer()
        let attempts = Lock(0)
        server.route("/websocket") { request in
            let attempt = attempts.withLock { count in
                count += 1
                return count
            }
            return attempt == 1 ? .text("no", status: 500) : .webSocket(Script([.close(.normalClosure)]), for: request)
        }
        let log = Log()
        let policy = RetryPolicy(exponentialBackoffScale: 0.001)
        Session().webSocketRequest(to: server.url("/websocket"), interceptor: isRetried ? policy : nil)
            .streamMessageEvents { log.add($0.kind) }
        try await eventually { log.hasCompleted }
        #expect(
            log.lines
                == (isRetried
                    ? ["connected nil", "disconnected 1000 nil", "completed nil"] : ["completed webSocketRefused"]))
    }

    @Test("an application's close code is no error, and is reported by number")
    func otherCodes() async throws {
        let server = try Self.server(Script([.close(.init(rawValue: 4001), reason: "own")]))
        let log = Log()
        let request = Session().webSocketRequest(to: server.url("/websocket")).streamMessageEvents { log.add($0.kind) }
        try await eventually { log.hasCompleted }
        #expect(log.lines == ["connected nil", "disconnected 0 own", "completed nil"])
        #expect(request.closeCode?.rawValue == 4001)
    }

    // MARK: Handlers

    @Test("every handler gets every event, and a message that cannot be decoded leaves the WebSocket open")
    func handlers() async throws {
        let server = try Self.server(Script([.send(.text("?")), .send(Self.json), .close(.normalClosure)]))
        let (log, values, messages, kinds) = (Log(), Lock<[Value]>([]), Lock(0), Lock<[String]>([]))
        let queue = DispatchQueue(label: "handlers")
        Session().webSocketRequest(to: server.url("/websocket"))
            .streamDecodable(Value.self, on: queue) { value in values.withLock { $0.append(value) } }
            .streamMessages(on: queue) { _ in messages.withLock { $0 += 1 } }
            .streamDecodableEvents(Value.self, on: queue) { event in
                let kind =
                    switch event.kind {
                    case .connected: "connected"
                    case .receivedMessage(let value): value.name
                    case .serializerFailed(let error):
                        error is DecodableWebSocketMessageDecoder<Value>.Error ? "failed" : "another error"
                    case .disconnected: "disconnected"
                    case .completed: "completed"
                    }
                kinds.withLock { $0.append(kind) }
            }
            .streamSerializer(.json(decoding: Value.self), on: queue) { event in
                if let value = event.message { values.withLock { $0.append(value) } }
            }
            .streamMessageEvents { log.add($0.kind) }
        try await eventually { log.hasCompleted && kinds.withLock { $0.last } == "completed" }
        #expect(values.withLock { $0 } == [Value(name: "Ada"), Value(name: "Ada")])
        #expect(messages.withLock { $0 } == 2)
        #expect(kinds.withLock { $0 } == ["connected", "failed", "Ada", "disconnected", "completed"])
    }

    @Test("the subprotocol is negotiated, and parameters are added to the URL")
    func subprotocol() async throws {
        let server = try Self.server(Script([.close(.normalClosure)]).changed { $0.protocols = ["chat"] })
        let log = Log()
        Session().webSocketRequest(
            to: server.url("/websocket"), configuration: .protocol("chat"), parameters: ["a": "b"],
            headers: [.authorization(bearerToken: "token")]
        ).streamMessageEvents { log.add($0.kind) }
        try await eventually { log.hasCompleted }
        #expect(log.lines.first == "connected chat")
        let request = try #require(server.requests.first)
        #expect(request.queryValue("a") == "b")
        #expect(request.headers["Authorization"] == "Bearer token")
    }

    // MARK: Sending

    @Test("messages that are sent before the WebSocket is open arrive in order")
    func sending() async throws {
        let server = try Self.server(.echo)
        let (log, sent) = (Log(), Lock(0))
        let request = Session().webSocketRequest(to: server.url("/websocket"))
        for index in 0..<20 {
            request.send(.string("\(index)")) { result in
                if case .success = result { sent.withLock { $0 += 1 } }
            }
        }
        request.streamMessageEvents { event in
            log.add(event.kind)
            if case .string("19")? = event.message { event.close(sending: .normalClosure) }
        }
        try await eventually { log.hasCompleted && sent.withLock { $0 } == 20 }
        #expect(log.lines.filter { $0.hasPrefix("string") } == (0..<20).map { "string \($0)" })
        let late = Lock<CurlewError?>(nil)
        request.send(.data(Data())) { result in
            if case .failure(let error) = result { late.withLock { $0 = error.asAFError } }
        }
        try await eventually { late.withLock { $0 } != nil }
    }

    @Test("a hundred pings give a hundred pongs")
    func pings() async throws {
        let server = try Self.server(.echo)
        let (log, pongs) = (Log(), Lock(0))
        Session().webSocketRequest(to: server.url("/websocket")).streamMessageEvents { event in
            log.add(event.kind)
            guard case .connected = event.kind else { return }
            for _ in 0..<100 {
                event.sendPing { response in
                    guard case .pong(let pong) = response, pong.latency > 0, pong.end >= pong.start else { return }
                    if pongs.withLock({ count in
                        count += 1
                        return count == 100
                    }) {
                        event.close(sending: .normalClosure)
                    }
                }
            }
        }
        try await eventually { log.hasCompleted }
        #expect(pongs.withLock { $0 } == 100)
        #expect(log.lines.last == "completed nil")
    }

    @Test("a ping of a request that is not started is not sent")
    func unsent() async throws {
        let request = Session().webSocketRequest(to: "wss://example.org")
        let isUnsent = Lock(false)
        request.sendPing { response in
            if case .unsent = response { isUnsent.withLock { $0 = true } }
        }
        try await eventually { isUnsent.withLock { $0 } }
        #expect(request.isInitialized)
    }

    @Test("pings are sent at the configured interval")
    func automaticPings() async throws {
        let pings = Lock(0)
        let server = try Self.server(
            Script.echo.changed { $0.onPing = { _ in pings.withLock { $0 += 1 } } })
        let log = Log()
        let request = Session().webSocketRequest(to: server.url("/websocket"), configuration: .pingInterval(0.005))
            .streamMessageEvents { log.add($0.kind) }
        try await eventually { pings.withLock { $0 } >= 3 }
        request.close(sending: .normalClosure)
        try await eventually { log.hasCompleted }
        #expect(log.lines == ["connected nil", "disconnected 1000 nil", "completed nil"])
    }

    // MARK: Sequences

    @Test("events, messages and values can be awaited")
    func sequences() async throws {
        let server = try Self.server(Script([.send(Self.json), .close(.normalClosure)]))
        let session = Session()
        let log = Log()
        let task = session.webSocketRequest(to: server.url("/websocket")).webSocketTask()
        for await event in task.streamingMessageEvents() { log.add(event.kind) }
        #expect(log.lines.map { $0.prefix(6) } == ["connec", "string", "discon", "comple"])

        var messages = 0
        for await message in session.webSocketRequest(to: server.url("/websocket")).webSocketTask().streamingMessages()
        {
            guard case .string = message else { continue }
            messages += 1
        }
        #expect(messages == 1)

        var values: [Value] = []
        let values1 = session.webSocketRequest(to: server.url("/websocket")).webSocketTask()
        for await value in values1.streamingDecodable(Value.self) { values.append(value) }
        let values2 = session.webSocketRequest(to: server.url("/websocket")).webSocketTask()
        for await event in values2.streamingDecodableEvents(Value.self) {
            if let value = event.message { values.append(value) }
        }
        #expect(values == [Value(name: "Ada"), Value(name: "Ada")])
    }

    @Test("a task sends and closes, and leaving a sequence cancels the request")
    func tasks() async throws {
        let server = try Self.server(.echo)
        let session = Session()
        let request = session.webSocketRequest(to: server.url("/websocket"))
        let task = request.webSocketTask()
        let messages = task.streamingMessages()
        try await task.send(.string("hi"))
        for await message in messages {
            guard case .string("hi") = message else { continue }
            task.close(sending: .normalClosure)
        }
        #expect(request.closeCode == .normalClosure)

        let left = session.webSocketRequest(to: server.url("/websocket"))
        for await _ in left.webSocketTask().streamingMessageEvents() { break }
        try await eventually { left.isCancelled }
    }

    @Test func webSocketConfigurationIsApplied() {
        let usual = WebSocketRequest.Configuration.default
        #expect(usual.protocol == nil && usual.maximumMessageSize == 1_048_576 && usual.pingInterval == nil)
        #expect(WebSocketRequest.Configuration.protocol("a").protocol == "a")
        #expect(WebSocketRequest.Configuration.pingInterval(3).pingInterval == 3)
        let request = Session().webSocketRequest(to: "wss://example.org", configuration: .pingInterval(3))
        #expect(request.options.pingInterval == .seconds(3) && request.options.maximumMessageSize == 1_048_576)
    }
}

/// Records the events of a handler as text.
private final class Log: Sendable {
    private let state = Lock<(lines: [String], completion: WebSocketRequest.Completion?)>(([], nil))

    var lines: [String] { state.withLock { $0.lines } }
    var completion: WebSocketRequest.Completion? { state.withLock { $0.completion } }
    var hasCompleted: Bool { completion != nil }

    func add(_ kind: WebSocketRequest.Event<URLSessionWebSocketTask.Message, Never>.Kind) {
        let line =
            switch kind {
            case .connected(let selected): "connected \(selected ?? "nil")"
            case .receivedMessage(.string(let text)): "string \(text)"
            case .receivedMessage(.data(let data)): "data \(data.count)"
            case .receivedMessage: "another kind of message"
            case .disconnected(let code, let reason):
                "disconnected \(code.rawValue) \(reason.map { String(decoding: $0, as: UTF8.self) } ?? "nil")"
            case .completed(let completion): "completed \(completion.error?.code.rawValue ?? "nil")"
            }
        state.withLock { state in
            state.lines.append(line)
            if case .completed(let completion) = kind { state.completion = completion }
        }
    }
}
