import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("Middleware", .timeLimit(.minutes(4)))
struct MiddlewareTests {
    private static let url = "https://example.com/a"

    private func session(
        _ transport: MockTransport,
        _ middleware: any RequestMiddleware...,
        change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.middleware = middleware
        change(&configuration)
        return Session(configuration: configuration, transport: transport)
    }

    private func failure(_ request: DataRequest) async -> CurlewError? { await request.response().error }

    // MARK: The chain

    @Test func `the session's are outside of the request's own, in the order of the list`() async throws {
        let transport = MockTransport { _ in .text("end") }
        let order = Lock<[String]>([])
        func named(_ name: String) -> Wrap {
            Wrap { request, next in
                order.withLock { $0.append(name) }
                defer { order.withLock { $0.append("/" + name) } }
                var request = request
                request.setValue((request.value(forHTTPHeaderField: "X-Way") ?? "") + name, forHTTPHeaderField: "X-Way")
                return try await next(request)
            }
        }
        let session = session(transport, named("a"), named("b"))
        let request = session.request(Self.url).middleware(named("c")).middleware(named("d"))
        #expect(try await request.string() == "end")
        #expect(order.withLock { $0 } == ["a", "b", "c", "d", "/d", "/c", "/b", "/a"])
        #expect(transport.requests.map { $0.headers["X-Way"] } == ["abcd"])
        await session.invalidate()
    }

    @Test func `exchange adapters come first`() async throws {
        let transport = MockTransport { _ in .text("end") }
        let session = session(
            transport,
            Wrap { request, next in
                #expect(request.value(forHTTPHeaderField: "X-Adapted") == "1")
                return try await next(request)
            })
        let adapter = EachExchange { request, _ in request.setValue("1", forHTTPHeaderField: "X-Adapted") }
        #expect(try await session.request(Self.url).exchangeAdapter(adapter).string() == "end")
        await session.invalidate()
    }

    @Test func `a middleware answers without the network`() async throws {
        let transport = MockTransport()
        let session = session(
            transport,
            Wrap { _, _ in
                Reply(status: 203, headers: ["X-From": "middleware"], body: Data("answer".utf8))
            })
        let response = await session.request(Self.url).response()
        #expect(response.data == Data("answer".utf8))
        #expect(response.head?.status == 203)
        #expect(response.head?.headers["X-From"] == "middleware")
        #expect(response.metrics != nil)
        #expect(transport.requests.isEmpty)
        await session.invalidate()
    }

    @Test func `an unacceptable status of a middleware is one`() async throws {
        let session = session(MockTransport(), Wrap { _, _ in Reply(status: 418, body: Data("tea".utf8)) })
        let error = await #expect(throws: CurlewError.self) { try await session.request(Self.url).data() }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.responseBody == Data("tea".utf8))
        await session.invalidate()
    }

    @Test func `next may be called again`() async throws {
        let transport = MockTransport()
        transport.enqueue(.status(503), .failing(CurlewError(.connectFailed, phase: .connect)), .text("end"))
        let codes = Lock<[String]>([])
        let session = session(
            transport,
            Wrap { request, next in
                while true {
                    do {
                        let reply = try await next(request)
                        codes.withLock { $0.append("\(reply.head.status)") }
                        if reply.head.status == 200 { return reply }
                    } catch let error as CurlewError {
                        codes.withLock { $0.append(error.code.rawValue) }
                    }
                }
            })
        let request = session.request(Self.url, method: .post, parameters: ["a": "b"], encoder: .json)
        #expect(try await request.string() == "end")
        #expect(codes.withLock { $0 } == ["503", "connectFailed", "200"])
        #expect(transport.requests.map(\.bodyText) == Array(repeating: "{\"a\":\"b\"}", count: 3))
        // To everyone else, this was one exchange.
        #expect(request.attempts.map(\.tasks.count) == [1])
        await session.invalidate()
    }

    @Test func `the faster of two calls wins, and the other ends`() async throws {
        let transport = MockTransport { request in
            request.headers["X-Lane"] == "slow" ? .hanging : .text("fast")
        }
        let session = session(
            transport,
            Wrap { request, next in
                try await withThrowingTaskGroup(of: Reply.self) { group in
                    for lane in ["slow", "fast"] {
                        var request = request
                        request.setValue(lane, forHTTPHeaderField: "X-Lane")
                        let sent = request
                        group.addTask { try await next(sent) }
                    }
                    defer { group.cancelAll() }
                    return try await group.next() ?? Reply(status: 500)
                }
            })
        #expect(try await session.request(Self.url).string() == "fast")
        #expect(transport.runningCount == 0)
        await session.invalidate()
    }

    @Test func `next fails once the middleware has returned`() async throws {
        let kept = Lock<Next?>(nil)
        let session = session(
            MockTransport(),
            Wrap { _, next in
                kept.withLock { $0 = next }
                return Reply(status: 204)
            })
        let request = session.request(Self.url)
        _ = await request.response()
        let next = try #require(kept.withLock { $0 })
        let sent = try #require(request.request)
        let error = await #expect(throws: CurlewError.self) { _ = try await next(sent) }
        #expect(error?.code == .unsupported)
        await session.invalidate()
    }

    @Test func `a body that can be read once is sent once`() async throws {
        let transport = MockTransport { _ in .status(503) }
        let session = session(
            transport,
            Wrap { request, next in
                _ = try await next(request)
                return try await next(request)
            })
        let upload = session.upload(InputStream(data: Data("once".utf8)), to: Self.url)
        #expect(await failure(upload)?.code == .bodyUnavailable)
        #expect(transport.requests.map(\.bodyText) == ["once"])
        // A body that can be replaced is no longer read.
        let replacing = Wrap { request, next in
            var request = request
            request.httpBody = Data("new".utf8)
            return try await next(request)
        }
        let replaced = session.upload(InputStream(data: Data("once".utf8)), to: Self.url).middleware(replacing)
        #expect(await replaced.response().head?.status == 503)
        #expect(transport.requests.map(\.bodyText) == ["once", "new", "new"])
        await session.invalidate()
    }

    // MARK: Around the exchange

    @Test func `redirects are followed around it, and no field of it goes along`() async throws {
        let transport = MockTransport { request in
            request.path == "/a" ? .redirect(to: "https://example.org/b") : .text("end")
        }
        let urls = Lock<[String]>([])
        let session = session(
            transport,
            Wrap { request, next in
                let isFirst = urls.withLock { urls in
                    urls.append(request.url?.absoluteString ?? "-")
                    return urls.count == 1
                }
                var request = request
                if isFirst { request.setValue("s3cret", forHTTPHeaderField: "X-Signature") }
                return try await next(request)
            })
        let response = await session.request(Self.url).response()
        #expect(response.data == Data("end".utf8))
        #expect(urls.withLock { $0 } == [Self.url, "https://example.org/b"])
        #expect(transport.requests.map { $0.headers["X-Signature"] } == ["s3cret", nil])
        #expect(response.metrics?.redirects.count == 1)
        await session.invalidate()
    }

    @Test func `a redirect that a middleware returns is followed`() async throws {
        let transport = MockTransport { _ in .text("end") }
        let session = session(
            transport,
            Wrap { request, next in
                request.url?.path() == "/a" ? Reply(status: 302, headers: ["Location": "/b"]) : try await next(request)
            })
        #expect(try await session.request(Self.url).string() == "end")
        #expect(transport.requests.map(\.path) == ["/b"])
        await session.invalidate()
    }

    @Test func `cookies of a reply are stored, and sent with the next request`() async throws {
        let jar = CookieJar()
        let transport = MockTransport { _ in .text("end").header("Set-Cookie", "id=7") }
        let seen = Lock<[String?]>([])
        let session = session(
            transport,
            Wrap { request, next in
                seen.withLock { $0.append(request.value(forHTTPHeaderField: "Cookie")) }
                return try await next(request)
            }
        ) { $0.cookies = jar }
        for _ in 0..<2 { _ = try await session.request(Self.url).data() }
        #expect(seen.withLock { $0 } == [nil, "id=7"])
        #expect(transport.requests.last?.headers["Cookie"] == "id=7")
        await session.invalidate()
    }

    @Test func `a retrier sees a reply of a middleware, and every attempt passes it`() async throws {
        let calls = Lock(0)
        let session = session(
            MockTransport(),
            Wrap { _, _ in
                let number = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                return number < 3 ? Reply(status: 503) : Reply(body: Data("end".utf8))
            })
        let request = session.request(Self.url).retry(using: RetryPolicy(exponentialBackoffScale: 0.001))
        #expect(try await request.string() == "end")
        #expect(request.attempts.count == 3)
        await session.invalidate()
    }

    @Test func `a stored response is a reply, and what is made of a response is not stored`() async throws {
        let transport = MockTransport { _ in .text("stored").header("Cache-Control", "max-age=1000") }
        let statuses = Lock<[CacheStatus?]>([])
        let session = session(
            transport,
            Wrap { request, next in
                let reply = try await next(request)
                statuses.withLock { $0.append(reply.metrics?.cacheStatus) }
                return try await reply.mapBody { $0 + Data("!".utf8) }
            }
        ) { $0.cache = ResponseCache() }
        #expect(try await session.request(Self.url).string() == "stored!")
        #expect(try await session.request(Self.url).string() == "stored!")
        #expect(transport.requests.count == 1)
        #expect(statuses.withLock { $0 } == [.miss, .hit])
        await session.invalidate()
    }

    @Test func `the handshake of a WebSocket is not wrapped`() async throws {
        let transport = MockTransport()
        transport.webSocket("/feed", TestServer.WebSocketScript([.send(.text("one")), .close(.normalClosure)]))
        let session = session(transport, Wrap { _, _ in throw UserFailure() })
        var count = 0
        for try await _ in session.webSocket("wss://example.org/feed").messages { count += 1 }
        #expect(count == 1)
        await session.invalidate()
    }

    @Test func `a suspended request gets no reply until it is resumed`() async throws {
        let (runs, open, returns) = (Gate(), Gate(), Gate())
        let session = session(
            MockTransport(),
            Wrap { _, _ in
                defer { returns.open() }
                runs.open()
                try await open.wait()
                return Reply(body: Data("end".utf8))
            })
        let request = session.request(Self.url)
        let task = Task { try await request.string() }
        try await runs.wait()
        request.suspend()
        open.open()
        try await returns.wait()
        for _ in 0..<100 { await Task.yield() }
        #expect(request.response == nil)
        request.resume()
        #expect(try await task.value == "end")
        await session.invalidate()
    }

    @Test func `monitors hear of one exchange, and see the reply`() async throws {
        let monitor = Monitor()
        let session = Session(
            configuration: SessionConfiguration {
                $0.middleware = [
                    Wrap { request, next in
                        _ = try? await next(request)
                        return Reply(status: 201, body: Data("own".utf8))
                    }
                ]
            },
            transport: MockTransport { _ in .text("of the server") },
            eventMonitors: [monitor]
        )
        _ = try await session.request(Self.url).data()
        monitor.queue.sync {}
        #expect(monitor.seen.withLock { $0 } == ["task", "head 201", "own"])
        await session.invalidate()
    }

    private final class Monitor: EventMonitor {
        let queue = DispatchQueue(label: "middleware-monitor")
        let seen = Lock<[String]>([])
        var wantsBodies: Bool { true }

        func request(_ request: Request, didCreateTask task: TaskIdentifier) { seen.withLock { $0.append("task") } }

        func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {
            seen.withLock { $0.append("head \(head.status)") }
        }

        func request(_ request: Request, task: TaskIdentifier, didReceive body: Data) {
            seen.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
        }
    }
}
