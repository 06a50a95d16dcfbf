import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("Middleware", .timeLimit(.minutes(4)))
struct MiddlewareTests {
    private static let url = "https://example.com/a"

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
        let session = Session(over: transport, named("a"), named("b"))
        let request = session.request(Self.url).middleware(named("c")).middleware(named("d"))
        #expect(try await request.string() == "end")
        #expect(order.withLock { $0 } == ["a", "b", "c", "d", "/d", "/c", "/b", "/a"])
        #expect(transport.requests.map { $0.headers["X-Way"] } == ["abcd"])
        await session.invalidate()
    }

    @Test func `exchange adapters come first`() async throws {
        let transport = MockTransport { _ in .text("end") }
        let session = Session(
            over: transport,
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
        let session = Session(
            over: transport,
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
        let session = Session(over: MockTransport(), Wrap { _, _ in Reply(status: 418, body: Data("tea".utf8)) })
        let error = await #expect(throws: CurlewError.self) { try await session.request(Self.url).data() }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.responseBody == Data("tea".utf8))
        await session.invalidate()
    }

    @Test func `next may be called again`() async throws {
        let transport = MockTransport()
        transport.enqueue(.status(503), .failing(CurlewError(.connectFailed, phase: .connect)), .text("end"))
        let codes = Lock<[String]>([])
        let session = Session(
            over: transport,
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
        // Everything outside the middleware sees one exchange.
        #expect(request.attempts.map(\.tasks.count) == [1])
        await session.invalidate()
    }

    @Test func `the faster of two calls wins, and the other ends`() async throws {
        let transport = MockTransport { request in
            request.headers["X-Lane"] == "slow" ? .hanging : .text("fast")
        }
        let session = Session(
            over: transport,
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
        let session = Session(
            over: MockTransport(),
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
        let session = Session(
            over: transport,
            Wrap { request, next in
                _ = try await next(request)
                return try await next(request)
            })
        let upload = session.upload(InputStream(data: Data("once".utf8)), to: Self.url)
        #expect(await failure(of: upload)?.code == .bodyUnavailable)
        #expect(transport.requests.map(\.bodyText) == ["once"])
        // A body that replaces the stream can be sent twice, and the stream is not read.
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
}
