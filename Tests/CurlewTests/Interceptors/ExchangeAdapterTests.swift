import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@Suite("Adapters of each exchange", .timeLimit(.minutes(4)))
struct ExchangeAdapterTests {
    /// Sends a field that names the exchange, and records the exchanges.
    private struct Numbering: Sendable {
        let seen = Lock<[ExchangeInfo]>([])

        var adapter: EachExchange {
            EachExchange { [seen] request, exchange in
                seen.withLock { $0.append(exchange) }
                request.setValue("\(exchange.attempt).\(exchange.hop)", forHTTPHeaderField: "X-Exchange")
            }
        }
    }

    private func session(
        _ transport: MockTransport,
        _ adapters: any ExchangeAdapter...
    ) -> Session {
        Session(configuration: SessionConfiguration { $0.exchangeAdapters = adapters }, transport: transport)
    }

    @Test func `every redirect has fields of its own, at other origins too`() async throws {
        let transport = MockTransport { request in
            switch request.path {
            case "/a": .redirect(to: "/b")
            case "/b": .redirect(to: "https://other.example.org/c")
            default: .text("end")
            }
        }
        let numbering = Numbering()
        let once = EachExchange { request, exchange in
            if exchange.hop == 0 { request.setValue("s3cret", forHTTPHeaderField: "X-Signature") }
        }
        let session = session(transport, numbering.adapter, once)
        #expect(try await session.request("https://example.com/a").string() == "end")
        #expect(transport.requests.map { $0.headers["X-Exchange"] } == ["0.0", "0.1", "0.2"])
        #expect(transport.requests.map { $0.headers["X-Signature"] } == ["s3cret", nil, nil])
        let seen = numbering.seen.withLock { $0 }
        #expect(seen.map(\.url.absoluteString).last == "https://other.example.org/c")
        #expect(seen.map(\.leavesOrigin) == [false, false, true])
        #expect(seen.map(\.resendCount) == [0, 1, 2])
        #expect(Set(seen.map(\.task)).count == 3)
        await session.invalidate()
    }

    @Test func `the template of the URL describes the first request of each attempt, and no redirect`() async throws {
        let transport = MockTransport { request in
            switch (request.path, request.transfer.attempt) {
            case ("/users/7", _): .redirect(to: "/people/7")
            case ("/people/7", 0): .status(503)
            default: .text("ada")
            }
        }
        let numbering = Numbering()
        let session = session(transport, numbering.adapter)
        let request = session.request("https://example.com/users/7").urlTemplate("/users/{id}")
            .retry(using: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0))
        #expect(try await request.string() == "ada")
        #expect(request.urlTemplate == "/users/{id}")
        _ = await session.request("https://example.com/users/8").response()
        #expect(
            numbering.seen.withLock { $0.map(\.urlTemplate) }
                == ["/users/{id}", nil, "/users/{id}", nil, nil])
        await session.invalidate()
    }

    @Test func `a redirect that leads back to the first origin is there again`() async throws {
        let transport = MockTransport { request in
            switch request.url.absoluteString {
            case "https://example.com/a": .redirect(to: "https://other.example.org/b")
            case "https://other.example.org/b": .redirect(to: "https://EXAMPLE.com:443/c")
            default: .text("end")
            }
        }
        let numbering = Numbering()
        let signing = EachExchange { request, exchange in
            if !exchange.leavesOrigin { request.setValue("s3cret", forHTTPHeaderField: "X-Key") }
        }
        let session = session(transport, numbering.adapter, signing)
        #expect(try await session.request("https://example.com/a").string() == "end")
        #expect(numbering.seen.withLock { $0.map(\.leavesOrigin) } == [false, true, false])
        #expect(transport.requests.map { $0.headers["X-Key"] } == ["s3cret", nil, "s3cret"])
        await session.invalidate()
    }

    @Test func `every retry has fields of its own`() async throws {
        let transport = MockTransport()
        transport.enqueue(.status(503), .text("end"))
        let numbering = Numbering()
        let session = session(transport)
        let policy = RetryPolicy(exponentialBackoffScale: 0.001)
        let request = session.request("https://example.com/").exchangeAdapter(numbering.adapter).retry(using: policy)
        #expect(try await request.string() == "end")
        #expect(numbering.seen.withLock { Set($0.map(\.requestID)) } == [request.id])
        #expect(transport.requests.map { $0.headers["X-Exchange"] } == ["0.0", "1.0"])
        #expect(numbering.seen.withLock { $0.map(\.resendCount) } == [0, 1])
        await session.invalidate()
    }

    @Test func `what they set is in no history and in no description`() async throws {
        let transport = MockTransport { _ in .text("end") }
        let session = session(
            transport,
            EachExchange { request, _ in
                request.setValue("s3cret", forHTTPHeaderField: "X-Signature")
                request.url = URL(string: "https://example.com/a?signature=s3cret")
            })
        let request = session.request("https://example.com/a")
        let response = await request.response()
        #expect(transport.requests.first?.headers["X-Signature"] == "s3cret")
        #expect(transport.requests.first?.queryValue("signature") == "s3cret")
        #expect(response.request?.allHTTPHeaderFields?["X-Signature"] == nil)
        #expect(response.response?.url?.absoluteString == "https://example.com/a")
        #expect(!request.cURLDescription(includingCredentials: true).contains("s3cret"))
        #expect(request.attempts.allSatisfy { $0.requests.allSatisfy { $0.url?.query() == nil } })
        await session.invalidate()
    }

    @Test func `they see cookies and default fields, the session's adapters first`() async throws {
        let jar = CookieJar()
        jar.set(Cookie(name: "id", value: "7", domain: "example.com", created: Date()))
        let transport = MockTransport { _ in .text("end") }
        let order = Lock<[String]>([])
        let session = Session(
            configuration: SessionConfiguration {
                $0.cookies = jar
                $0.exchangeAdapters = [
                    EachExchange { request, _ in
                        order.withLock { $0.append("session " + (request.value(forHTTPHeaderField: "Cookie") ?? "-")) }
                        request.setValue("session", forHTTPHeaderField: "X-By")
                    }
                ]
            },
            transport: transport
        )
        let own = EachExchange { request, _ in
            order.withLock { $0.append("own " + (request.value(forHTTPHeaderField: "X-By") ?? "-")) }
            #expect(request.value(forHTTPHeaderField: "User-Agent") != nil)
        }
        _ = try await session.request("https://example.com/").exchangeAdapter(own).data()
        #expect(order.withLock { $0 } == ["session id=7", "own session"])
        await session.invalidate()
    }

    @Test func `a challenge that the session answers leads to another exchange`() async throws {
        let server = try TestServer()
        for path in ["/in/*", "/other"] { server.protect(path) }
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        _ = try await session.request(server.url("/in/a")).authenticate(username: "ada", password: "secret").data()
        server.clearRequests()
        let numbering = Numbering()
        let text = try await session.request(server.url("/other")).exchangeAdapter(numbering.adapter).string()
        #expect(text == "in")
        #expect(server.requests.map { $0.headers["X-Exchange"] } == ["0.0", "0.0"])
        #expect(numbering.seen.withLock { $0.map(\.resendCount) } == [0, 1])
        await session.invalidate()
    }

    @Test func `every segment of a download is adapted`() async throws {
        let service = try FileService { $0.length = 9 << 20 }
        let scratch = try ScratchDirectory()
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        let ranges = Lock<[String]>([])
        let signing = EachExchange { request, _ in
            let range = request.value(forHTTPHeaderField: "Range") ?? "-"
            ranges.withLock { $0.append(range) }
            request.setValue("signed " + range, forHTTPHeaderField: "X-Signature")
        }
        let url = try await session.download(service.url, to: destination(scratch.file("a")))
            .segments(4).exchangeAdapter(signing).file()
        #expect(try Data(contentsOf: url) == service.contents)
        let requests = service.server.requests
        #expect(requests.count > 1)
        #expect(requests.allSatisfy { $0.headers["X-Signature"] == "signed " + ($0.headers["Range"] ?? "-") })
        #expect(ranges.withLock { Set($0) } == Set(requests.compactMap { $0.headers["Range"] }))
        await session.invalidate()
    }

    @Test func `the handshake of a WebSocket is adapted`() async throws {
        let transport = MockTransport()
        transport.webSocket("/feed", TestServer.WebSocketScript([.send(.text("one")), .close(.normalClosure)]))
        let session = session(
            transport,
            EachExchange { request, _ in
                request.setValue("trace", forHTTPHeaderField: "X-Trace")
            })
        var texts: [String] = []
        for try await message in session.webSocket("wss://example.org/feed").messages {
            if case .text(let text) = message { texts.append(text) }
        }
        #expect(texts == ["one"])
        #expect(transport.requests.first?.headers["X-Trace"] == "trace")
        await session.invalidate()
    }

    // MARK: Failures

    @Test("an error of an adapter becomes adaptationFailed, and nothing is sent", arguments: [true, false])
    func fails(isTyped: Bool) async throws {
        let transport = MockTransport { _ in .text("end") }
        let session = session(
            transport,
            EachExchange { _, _ in
                if isTyped { throw CurlewError(.invalidBody, phase: .creation) }
                throw UserFailure()
            })
        let error = await #expect(throws: CurlewError.self) { try await session.request("https://example.com/").data() }
        #expect(error?.code == .adaptationFailed)
        #expect(error?.underlying is UserFailure != isTyped)
        #expect(transport.requests.isEmpty)
        await session.invalidate()
    }

    @Test func `another origin is refused`() async throws {
        let transport = MockTransport { _ in .text("end") }
        let session = session(
            transport, EachExchange { request, _ in request.url = URL(string: "https://example.org/") })
        let error = await #expect(throws: CurlewError.self) { try await session.request("https://example.com/").data() }
        #expect(error?.code == .unsupported)
        #expect(transport.requests.isEmpty)
        await session.invalidate()
    }

    @Test("cancelling the request or its task ends a running adapter", arguments: [true, false])
    func cancelled(byRequest: Bool) async throws {
        let transport = MockTransport { _ in .text("end") }
        let (runs, ended) = (Gate(), Gate())
        let session = session(
            transport,
            EachExchange { _, _ in
                defer { ended.open() }
                runs.open()
                try await Task.sleep(for: .seconds(3600))
            })
        let request = session.request("https://example.com/")
        let task = Task { await request.response().error?.code }
        try await runs.wait()
        if byRequest { request.cancel() } else { task.cancel() }
        #expect(await task.value == .cancelled)
        #expect(ended.isOpen)
        #expect(transport.requests.isEmpty)
        await session.invalidate()
    }

    @Test func `the total timeout ends an adapter`() async throws {
        let transport = MockTransport { _ in .text("end") }
        let session = session(transport, EachExchange { _, _ in try await Task.sleep(for: .seconds(3600)) })
        let request = session.request("https://example.com/").timeouts { $0.total = .milliseconds(20) }
        #expect(await request.response().error?.code == .totalTimedOut)
        #expect(transport.requests.isEmpty)
        await session.invalidate()
    }
}
