import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// Redirects, cookies, HSTS, credentials, retries and the cache use the replies of middleware.
@Suite("Redirects, cookies, credentials and caching around middleware", .timeLimit(.minutes(4)))
struct MiddlewareRuleTests {
    private static let url = "https://example.com/a"

    @Test func `redirects are followed around it, and no field of it goes along`() async throws {
        let transport = MockTransport { request in
            request.path == "/a" ? .redirect(to: "https://example.org/b") : .text("end")
        }
        let urls = Lock<[String]>([])
        let session = Session(
            over: transport,
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
        let session = Session(
            over: transport,
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
        let session = Session(
            over: transport,
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

    @Test func `a reply of a middleware's own sets cookies, and the rule for https`() async throws {
        let jar = CookieJar()
        let urls = Recorded<String>()
        let own = Wrap { request, _ in
            urls.note(request.url?.absoluteString ?? "-")
            return Reply(headers: ["Set-Cookie": "id=7", "Strict-Transport-Security": "max-age=1000"])
        }
        let session = Session(over: MockTransport(), own) { ($0.cookies, $0.hsts) = (jar, HSTSStore()) }
        // A reply to a request over http sets no rule.
        for url in ["http://example.com/a", "http://example.com/b", Self.url, "http://example.com/c"] {
            _ = try await session.request(url).data()
        }
        #expect(urls.all == ["http://example.com/a", "http://example.com/b", Self.url, "https://example.com/c"])
        #expect(jar.cookies.map(\.value) == ["7"])
        await session.invalidate()
    }

    @Test func `a 401 of a middleware's own is answered with stored credentials`() async throws {
        let server = try TestServer()
        for path in ["/in/*", "/other"] { server.protect(path) }
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        _ = try await session.request(server.url("/in/a")).authenticate(username: "ada", password: "secret").data()
        server.clearRequests()
        let calls = Lock(0)
        let asking = Wrap { request, next in
            let isFirst = calls.withLock { calls in
                calls += 1
                return calls == 1
            }
            guard isFirst else { return try await next(request) }
            return Reply(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])
        }
        let request = session.request(server.url("/other")).middleware(asking)
        #expect(try await request.string() == "in")
        #expect(calls.withLock { $0 } == 2)
        #expect(server.requests.map { $0.headers["Authorization"] != nil } == [true])
        // Everything outside the middleware sees one exchange.
        #expect(request.attempts.map(\.tasks.count) == [1])
        await session.invalidate()
    }

    @Test(arguments: [false, true])
    func `a 401 of a middleware's own lets the session keep the credentials that the server has accepted`(
        isChanged: Bool
    ) async throws {
        let server = try TestServer()
        server.protect("/in/*")
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        let url = server.url("/in/a")
        _ = try await session.request(url).authenticate(username: "ada", password: "secret").data()
        let refusing = Wrap { request, next in
            guard isChanged else { return Reply(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]) }
            var reply = try await next(request)
            reply.head.status = 401
            return reply
        }
        #expect(await failure(of: session.request(url).middleware(refusing).validate())?.responseCode == 401)
        server.clearRequests()
        #expect(try await session.request(url).string() == "in")
        #expect(server.requests.map { $0.headers["Authorization"] != nil } == [true])
        await session.invalidate()
    }

    /// The session keeps its credentials because they were not sent.
    @Test(arguments: ["adapter", "middleware"])
    func `a 401 to an own Authorization field lets the session keep its credentials`(setter: String) async throws {
        let server = try TestServer()
        server.protect("/in/*")
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        let url = server.url("/in/a")
        _ = try await session.request(url).authenticate(username: "ada", password: "secret").data()
        let request = session.request(url)
        if setter == "adapter" {
            request.exchangeAdapter(EachExchange { request, _ in request = Self.withToken(request) })
        } else {
            request.middleware(Wrap { request, next in try await next(Self.withToken(request)) })
        }
        #expect(await failure(of: request.validate())?.responseCode == 401)
        server.clearRequests()
        #expect(try await session.request(url).string() == "in")
        #expect(server.requests.map { $0.headers["Authorization"] != nil } == [true])
        await session.invalidate()
    }

    private static func withToken(_ request: URLRequest) -> URLRequest {
        var request = request
        request.setValue("Bearer expired", forHTTPHeaderField: "Authorization")
        return request
    }

    @Test(arguments: [false, true])
    func `a 401 of the server passes middleware, and the session forgets the credentials`(
        isRebuilt: Bool
    ) async throws {
        let rebuilding = Wrap { request, next in
            let reply = try await next(request)
            return Reply(head: reply.head, body: .data(try await reply.data()))
        }
        let server = try TestServer()
        server.protect("/in/*")
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        let url = server.url("/in/a")
        _ = try await session.request(url).authenticate(username: "ada", password: "secret").data()
        server.route("/in/*") { _ in .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"r\"") }
        #expect(
            await failure(of: session.request(url).middleware(isRebuilt ? rebuilding : Wrap.passing).validate())?
                .responseCode == 401)
        server.clearRequests()
        #expect(await failure(of: session.request(url).validate())?.responseCode == 401)
        #expect(server.requests.map { $0.headers["Authorization"] != nil } == [false])
        await session.invalidate()
    }

    @Test func `a 401 of a middleware's own gets no credentials of another realm`() async throws {
        let server = try TestServer()
        server.protect("/in/*")
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        _ = try await session.request(server.url("/in/a")).authenticate(username: "ada", password: "secret").data()
        let calls = Lock(0)
        let asking = Wrap { _, _ in
            calls.withLock { $0 += 1 }
            return Reply(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"another\""])
        }
        let error = await failure(of: session.request(server.url("/other")).middleware(asking).validate())
        #expect(error?.responseCode == 401)
        #expect(calls.withLock { $0 } == 1)
        await session.invalidate()
    }

    @Test func `a reply that was kept from another exchange sets no cookie and no rule again`() async throws {
        let (jar, hsts) = (CookieJar(), HSTSStore())
        let transport = MockTransport { _ in
            .text("end").header("Set-Cookie", "id=old").header("Strict-Transport-Security", "max-age=1000")
        }
        let session = Session(over: transport, Wrap.keeping()) { ($0.cookies, $0.hsts) = (jar, hsts) }
        let first = await session.request(Self.url).response()
        #expect(first.head?.headers["Set-Cookie"] == "id=old")
        #expect(hsts.contains("example.com"))
        #expect(jar.cookies.map(\.value) == ["old"])
        // Simulates a later response that deletes the cookie and the rule.
        jar.removeAll()
        hsts.removeAll()
        let second = await session.request(Self.url).response()
        #expect(second.data == Data("end".utf8))
        #expect(second.head?.headers["Set-Cookie"] == nil)
        #expect(jar.cookies.isEmpty)
        #expect(!hsts.contains("example.com"))
        #expect(transport.requests.count == 1)
        await session.invalidate()
    }

    @Test func `a retrier sees a reply of a middleware, and every attempt passes it`() async throws {
        let calls = Lock(0)
        let session = Session(
            over: MockTransport(),
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
        let session = Session(
            over: transport,
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
        let session = Session(over: transport, Wrap { _, _ in throw UserFailure() })
        var count = 0
        for try await _ in session.webSocket("wss://example.org/feed").messages { count += 1 }
        #expect(count == 1)
        await session.invalidate()
    }

    @Test("a suspended request gets no reply until it is resumed", arguments: [true, false])
    func suspended(isResumed: Bool) async throws {
        let (runs, open) = (Gate(), Gate())
        let session = Session(
            over: MockTransport(),
            Wrap { _, _ in
                runs.open()
                try await open.wait()
                return Reply(body: Data("end".utf8))
            })
        let request = session.request(Self.url)
        // Without the suspension, the reply would arrive long before this limit.
        if !isResumed { request.timeouts { $0.total = .milliseconds(500) } }
        let task = Task { await request.response() }
        try await runs.wait()
        request.suspend()
        open.open()
        if isResumed { request.resume() }
        let response = await task.value
        #expect(response.data == (isResumed ? Data("end".utf8) : nil))
        #expect(response.error?.code == (isResumed ? nil : .totalTimedOut))
        #expect((response.head == nil) == !isResumed)
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
