import Curlew
import CurlewOpenAPI
import CurlewTesting
import Dispatch
import Foundation
import HTTPTypes
import OpenAPIRuntime
import Synchronization
import Testing

struct SessionTransportTests {
    private func request(_ method: HTTPRequest.Method, _ path: String) -> HTTPRequest {
        HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
    }

    @Test func aRequestIsSentBelowTheServersURL() async throws {
        let server = try await TestServer.start()
        server.route("/v1/echo") { request in
            .data(request.body, status: 418, type: "text/plain").header("x-two", request.headers["x-one"] ?? "")
        }
        let transport = SessionTransport(Session())
        var sent = request(.post, "/echo?a=1%202")
        sent.headerFields[try #require(HTTPField.Name("x-one"))] = "1"
        let (response, body) = try await transport.send(
            sent, body: HTTPBody("hello"), baseURL: server.url("/v1/"), operationID: "echo")
        #expect(response.status.code == 418)
        #expect(response.headerFields[try #require(HTTPField.Name("x-two"))] == "1")
        #expect(try await String(collecting: #require(body), upTo: 100) == "hello")
        #expect(server.requests.first?.target == "/v1/echo?a=1%202")
        #expect(server.requests.first?.headers["Content-Length"] == "5")
    }

    @Test(arguments: ["/status/204", "/status/304"])
    func someResponsesHaveNoBody(path: String) async throws {
        let server = try await TestServer.start()
        let transport = SessionTransport(Session())
        #expect(
            try await transport.send(request(.get, path), body: nil, baseURL: server.url, operationID: "x").1 == nil)
        #expect(
            try await transport.send(request(.head, "/get"), body: nil, baseURL: server.url, operationID: "x").1 == nil)
    }

    @Test(
        arguments: [("/status/204", HTTPRequest.Method.get), ("/status/304", .get), ("/bytes/100000", .head)],
        [HTTPVersionPolicy.automatic, .http2PriorKnowledge])
    func aResponseWithoutABodyEndsItsRequest(
        _ sent: (path: String, method: HTTPRequest.Method), version: HTTPVersionPolicy
    ) async throws {
        var configuration = TestServer.Configuration()
        configuration.protocols = [.http2, .http1]
        let server = try TestServer(configuration)
        let ends = Ends()
        let session = Session(
            configuration: SessionConfiguration { $0.httpVersion = version }, eventMonitors: [ends])
        for _ in 0..<3 {
            let (_, body) = try await SessionTransport(session).send(
                request(sent.method, sent.path), body: nil, baseURL: server.url, operationID: "x")
            #expect(body == nil)
        }
        try await ends.waitForFinishes(3)
        #expect(ends.cancellations == 0)
        #expect(ends.errors.isEmpty)
        if version == .automatic { #expect(server.connectionCount == 1) }
    }

    @Test(arguments: [
        ("@evil.example/x", "http://127.0.0.1:1"), (".evil.example/x", "http://127.0.0.1:1"),
        ("@evil.example/x", "http://127.0.0.1:1/v1"), ("x", "http://127.0.0.1:1/v1"), ("*", "http://127.0.0.1:1"),
        ("https://evil.example/x", "http://127.0.0.1:1"), ("?x", "http://127.0.0.1:1"),
        ("/a#b?admin=0", "http://127.0.0.1:1"),
        ("//evil.example/x", "/"), ("//\u{301}evil.example/x", "/"), ("//evil.example/x", "/v1"),
        ("/users/../orders", "http://127.0.0.1:1/v1"), ("/..", "http://127.0.0.1:1/v1"),
        ("/users/%2e./orders", "http://127.0.0.1:1"), ("/users/./orders?x", "http://127.0.0.1:1"),
        ("/users/%2E%2E", "http://127.0.0.1:1"),
    ])
    func aPathThatIsNoneIsRefused(path: String, base: String) async throws {
        let baseURL = try #require(URL(string: base))
        await expectError(.invalidURL) {
            try await SessionTransport(Session()).send(
                request(.get, path), body: nil, baseURL: baseURL, operationID: "x")
        }
    }

    @Test(arguments: [
        ("/v1", "/x", "/v1/x"), ("/v1/", "/x?y", "/v1/x?y"), ("", "//evil.example/x", "//evil.example/x"),
        ("/v1", "//x", "/v1//x"), ("/v1", "", "/v1"), ("", "/@evil.example", "/@evil.example"),
        ("/v1", "/..x/...?a=/../b", "/v1/..x/...?a=/../b"), ("/v1", "/a%2F..%2Fb", "/v1/a%2F..%2Fb"),
    ])
    func aPathStaysBelowTheServersURL(base: String, path: String, target: String) async throws {
        let server = try await TestServer.start()
        let baseURL = try #require(URL(string: "http://127.0.0.1:\(server.port)\(base)"))
        _ = try await SessionTransport(Session()).send(
            request(.get, path), body: nil, baseURL: baseURL, operationID: "x")
        #expect(server.requests.map(\.target) == [target])
    }

    @Test func redirectsAreNotFollowedUnlessAsked() async throws {
        let server = try await TestServer.start()
        server.route("/away") { _ in .redirect(to: "/get") }
        var transport = SessionTransport(Session())
        let (first, _) = try await transport.send(
            request(.get, "/away"), body: nil, baseURL: server.url, operationID: "x")
        #expect(first.status.code == 302)
        #expect(first.headerFields[.location] == "/get")
        transport.followsRedirects = true
        let (second, _) = try await transport.send(
            request(.get, "/away"), body: nil, baseURL: server.url, operationID: "x")
        #expect(second.status.code == 200)
    }

    @Test func aBodyThatCanBeIteratedAgainIsSentAgain() async throws {
        let server = try await TestServer.start()
        server.route("/away", methods: [.put]) { _ in .redirect(to: "/echo", status: 307) }
        server.route("/echo", methods: [.put]) { .data($0.body) }
        let transport = SessionTransport(Session(), followsRedirects: true)
        let body = HTTPBody(Chunks(count: 3), length: .unknown, iterationBehavior: .multiple)
        let (_, echo) = try await transport.send(
            request(.put, "/away"), body: body, baseURL: server.url, operationID: "x")
        #expect(try await [UInt8](collecting: #require(echo), upTo: 100) == [0, 1, 2])
    }

    @Test func aBodyThatCanBeIteratedOnceIsNotSentAgain() async throws {
        let server = try await TestServer.start()
        server.route("/away", methods: [.put]) { _ in .redirect(to: "/echo", status: 307) }
        let transport = SessionTransport(Session(), followsRedirects: true)
        let body = HTTPBody(Chunks(count: 3), length: .unknown, iterationBehavior: .single)
        await expectError(.bodyUnavailable) {
            try await transport.send(request(.put, "/away"), body: body, baseURL: server.url, operationID: "x")
        }
    }

    @Test func theResponseIsReadWhileTheRequestIsSent() async throws {
        let server = try await TestServer.start()
        server.script("/duplex", .init(body: .echo))
        let (chunks, more) = AsyncStream.makeStream(of: HTTPBody.ByteChunk.self)
        more.yield([1])
        let (_, body) = try await SessionTransport(Session()).send(
            request(.post, "/duplex"), body: HTTPBody(chunks, length: .unknown, iterationBehavior: .single),
            baseURL: server.url, operationID: "x")
        var received = try #require(body).makeAsyncIterator()
        #expect(try await received.next() == [1])
        more.yield([2, 3])
        #expect(try await received.next() == [2, 3])
        more.finish()
        #expect(try await received.next() == nil)
    }

    @Test func aReaderThatWaitsSlowsTheServerDown() async throws {
        let server = try await TestServer.start()
        let size: Int64 = 200_000_000
        let sent = Mutex<Int64>(0)
        server.route("/large") { _ in
            TestServer.Response(
                body: .generated(length: size) { offset, most in
                    let part = TestServer.patternBytes(from: offset, count: Int(min(Int64(most), size - offset)))
                    sent.withLock { $0 = offset + Int64(part.count) }
                    return part
                })
        }
        let session = Session()
        let (response, body) = try await SessionTransport(session).send(
            request(.get, "/large"), body: nil, baseURL: server.url, operationID: "x")
        #expect(response.headerFields[.contentLength] == "\(size)")
        var iterator = try #require(body).makeAsyncIterator()
        _ = try await iterator.next()
        let settled = try await settled(session, server) { sent.withLock(\.self) }
        #expect(settled < size / 2)
    }

    @Test func aServerThatWaitsSlowsTheProducerDown() async throws {
        let server = try await TestServer.start()
        let gate = Gate()
        server.script("/in", TestServer.Response.text("all").stalling(until: gate, at: .readingBody(after: 0)))
        let (count, chunk) = (512, HTTPBody.ByteChunk(repeating: 7, count: 64 << 10))
        let asked = Mutex(0)
        let chunks = AsyncStream<HTTPBody.ByteChunk>(unfolding: {
            asked.withLock { asked -> HTTPBody.ByteChunk? in
                asked += 1
                return asked <= count ? chunk : nil
            }
        })
        let session = Session()
        let sending = Task {
            try await SessionTransport(session).send(
                request(.post, "/in"), body: HTTPBody(chunks, length: .unknown, iterationBehavior: .single),
                baseURL: server.url, operationID: "x")
        }
        try await gate.waitForArrivals(count: 1)
        // Bounded by the kernel's buffers, however much the producer has.
        #expect(try await settled(session, server) { asked.withLock(\.self) } < count / 2)
        gate.open()
        #expect(try await String(collecting: #require(sending.value.1), upTo: 100) == "all")
        #expect(server.requests.first { $0.path == "/in" }?.bodyByteCount == Int64(count * chunk.count))
        #expect(asked.withLock(\.self) == count + 1)
    }

    /// Returns the value once twenty requests have been answered without a change of it. They are sent by the event loop of
    /// the same session, and answered by the thread of the same server, so that both had as many turns to move bytes.
    private func settled<Value: Equatable>(
        _ session: Session, _ server: TestServer, _ value: () -> Value
    ) async throws -> Value {
        var (last, unchanged) = (value(), 0)
        while unchanged < 20 {
            _ = try await session.request(server.url("/get")).data()
            let now = value()
            unchanged = now == last ? unchanged + 1 : 0
            last = now
        }
        return last
    }

    @Test func releasingTheBodyEndsTheRequest() async throws {
        let server = try await TestServer.start()
        let session = Session()
        do {
            let (response, _) = try await SessionTransport(session).send(
                request(.get, "/bytes/50000000"), body: nil, baseURL: server.url, operationID: "x")
            #expect(response.status.code == 200)
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func cancellingSendCancelsTheRequest() async throws {
        let server = try await TestServer.start()
        server.route("/hang") { _ in .hanging }
        let transport = SessionTransport(Session())
        let task = Task {
            try await transport.send(request(.get, "/hang"), body: nil, baseURL: server.url, operationID: "x")
        }
        _ = try await server.waitForRequests(count: 1)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func cancellingTheReaderCancelsTheRequest() async throws {
        let server = try await TestServer.start()
        let gate = Gate()
        server.route("/stalls") { _ in .bytes(1000).stalling(until: gate, at: .inBody(after: 10)) }
        let (_, body) = try await SessionTransport(Session()).send(
            request(.get, "/stalls"), body: nil, baseURL: server.url, operationID: "x")
        let reading = Task { try await [UInt8](collecting: #require(body), upTo: 10_000) }
        reading.cancel()
        await expectError(.cancelled) { try await reading.value }
        try await server.waitForOpenConnections(atMost: 0)
        gate.open()
    }

    @Test func aTaskThatIsCancelledSendsNothing() async throws {
        let server = try await TestServer.start()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await SessionTransport(Session()).send(
                request(.get, "/get"), body: nil, baseURL: server.url, operationID: "x")
        }
        await expectError(.cancelled) { try await task.value }
        #expect(server.requests.isEmpty)
    }

    @Test func failuresAreTyped() async throws {
        let dead = try DeadEnd(.refusing)
        await expectError(.connectFailed) {
            try await SessionTransport(Session()).send(
                request(.get, "/"), body: nil, baseURL: dead.url, operationID: "x")
        }
    }
}

/// Records how requests end.
private final class Ends: EventMonitor {
    let queue = DispatchQueue(label: "ends")
    private let state = Mutex((cancellations: 0, errors: [CurlewError.Code]()))
    private let (finishes, finishing) = AsyncStream.makeStream(of: Void.self)

    var cancellations: Int { state.withLock(\.cancellations) }
    var errors: [CurlewError.Code] { state.withLock(\.errors) }

    func waitForFinishes(_ count: Int) async throws {
        var left = count
        for await _ in finishes {
            left -= 1
            if left == 0 { return }
        }
        throw CancellationError()
    }

    func requestDidCancel(_ request: Request) { state.withLock { $0.cancellations += 1 } }

    func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        if let error { state.withLock { $0.errors.append(error.code) } }
    }

    func requestDidFinish(_ request: Request) { finishing.yield() }
}

/// Chunks of one byte each: 0, 1, and so on.
private struct Chunks: AsyncSequence, Sendable {
    let count: UInt8

    func makeAsyncIterator() -> Iterator { Iterator(count: count) }

    struct Iterator: AsyncIteratorProtocol {
        let count: UInt8
        var position: UInt8 = 0

        mutating func next() async -> HTTPBody.ByteChunk? {
            guard position < count else { return nil }
            defer { position += 1 }
            return [position]
        }
    }
}

/// Expects a `CurlewError` with the code.
private func expectError<T>(
    _ code: CurlewError.Code, sourceLocation: SourceLocation = #_sourceLocation, from body: () async throws -> T
) async {
    let error = await #expect(throws: CurlewError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}
