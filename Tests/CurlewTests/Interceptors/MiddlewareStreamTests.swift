import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Streaming of bodies through middleware", .timeLimit(.minutes(4)))
struct MiddlewareStreamTests {
    let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
    let server: TestServer

    init() throws { server = try TestServer.endless() }

    /// Changes every byte, so that a body that bypasses the middleware is noticed.
    private static let inverting = Wrap { request, next in
        try await next(request).mapBody { chunk in Data(chunk.map { ~$0 }) }
    }

    // MARK: Streams

    @Test func `a stream arrives piece by piece`() async throws {
        let more = Gate()
        server.route("/two") { _ in
            TestServer.Response(body: .data(Data("onetwo".utf8))).stalling(until: more, at: .inBody(after: 3))
        }
        let request = session.streamRequest(server.url("/two")).middleware(Self.inverting)
        var read = Data()
        for try await chunk in request.chunks {
            read += chunk
            // The rest is sent only when the beginning has been read.
            if read.count == 3 { more.open() }
        }
        #expect(Data(read.map { ~$0 }) == Data("onetwo".utf8))
    }

    @Test func `a reader that stops stops the sender`() async throws {
        let request = session.streamRequest(server.url("/endless")).middleware(Self.inverting)
        var chunks = request.chunks.makeAsyncIterator()
        var read = try await chunks.next()?.count ?? 0
        let sent = try await server.bytesSentWhenStopped()
        // The channels of the middleware and of the request, and the kernel's buffers, limit the number of sent bytes.
        #expect(sent < 24 << 20)
        while read < 60 << 20 { read += try await chunks.next()?.count ?? 0 }
        #expect(server.bytesSent > sent)
        request.cancel()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test("leaving or cancelling a stream ends its transfer", arguments: [true, false])
    func left(isCancelled: Bool) async throws {
        let request = session.streamRequest(server.url("/endless")).middleware(Wrap.passing)
        var count = 0
        do {
            for try await chunk in request.chunks {
                count += chunk.count
                guard count > 1 << 20 else { continue }
                if isCancelled { request.cancel() } else { break }
            }
        } catch {
            #expect(error.code == .cancelled)
        }
        try await server.waitForOpenConnections(atMost: 0)
        try await eventually { session.registry.withLock { $0.activeRequests.isEmpty } }
    }

    @Test func `a body that breaks off fails as without middleware`() async throws {
        server.route("/broken") { _ in .bytes(100_000).faulting(.close, at: .inBody(after: 50_000)) }
        var codes: [CurlewError.Code?] = []
        for middleware in [[], [Self.inverting]] {
            let request = session.streamRequest(server.url("/broken"))
            for wrap in middleware { request.middleware(wrap) }
            let error = await #expect(throws: CurlewError.self) { for try await _ in request.chunks {} }
            codes.append(error?.code)
        }
        #expect(codes[0] == codes[1])
    }

    // MARK: Files

    @Test func `a download passes middleware on its way into the file`() async throws {
        let scratch = try ScratchDirectory()
        let size = 3_000_000
        let url = try await session.download(server.url("/bytes/\(size)"), to: destination(scratch.file("a")))
            .middleware(Self.inverting).file()
        let expected = Data(TestServer.patternBytes(count: size).map { ~$0 })
        #expect(try Data(contentsOf: url) == expected)
    }

    @Test func `an inspected body keeps its length, so that progress has a total`() async throws {
        let scratch = try ScratchDirectory()
        let seen = Lock(0)
        let inspecting = Wrap { request, next in
            try await next(request).inspectBody { chunk in seen.withLock { $0 += chunk.count } }
        }
        let request = session.download(server.url("/range/300000"), to: destination(scratch.file("a")))
            .middleware(inspecting)
        _ = try await request.file()
        #expect(seen.withLock { $0 } == 300_000)
        #expect(request.downloadProgress.totalUnitCount == 300_000)
        #expect(request.downloadProgress.completedUnitCount == 300_000)
    }

    @Test func `the body of a download can be collected`() async throws {
        let scratch = try ScratchDirectory()
        let collecting = Wrap { request, next in
            var reply = try await next(request)
            reply.body = .data(Data(try await reply.data(upTo: 1000).reversed()))
            return reply
        }
        server.route("/word") { _ in .text("word") }
        let url = try await session.download(server.url("/word"), to: destination(scratch.file("a")))
            .middleware(collecting).file()
        #expect(try Data(contentsOf: url) == Data("drow".utf8))
    }

    @Test func `segments pass middleware`() async throws {
        let service = try FileService { $0.length = 9 << 20 }
        let scratch = try ScratchDirectory()
        let ranges = Lock<Set<String>>([])
        let watching = Wrap { request, next in
            _ = ranges.withLock { $0.insert(request.value(forHTTPHeaderField: "Range") ?? "-") }
            return try await next(request)
        }
        let url = try await session.download(service.url, to: destination(scratch.file("a")))
            .segments(4).middleware(watching).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(ranges.withLock { $0 } == Set(service.ranges.compactMap(\.self)))
        #expect(ranges.withLock { $0.count } > 1)
    }

    // MARK: Replies that are not used

    @Test("a reply that is dropped frees its connection, during the call or at its end", arguments: [true, false])
    func dropped(isEarly: Bool) async throws {
        let kept = Lock<Reply?>(nil)
        let dropping = Wrap { [server] request, next in
            let reply = try await next(request)
            if isEarly {
                try await Self.leave(reply)
                try await server.waitForOpenConnections(atMost: 0)
            } else {
                kept.withLock { $0 = reply }
            }
            return Reply(body: Data("own".utf8))
        }
        let request = session.streamRequest(server.url("/endless")).middleware(dropping)
        var read = Data()
        for try await chunk in request.chunks { read += chunk }
        #expect(read == Data("own".utf8))
        try await server.waitForOpenConnections(atMost: 0)
        if isEarly { return }
        // A stored reply has no body after the call has ended.
        let reply = try #require(kept.withLock { $0 })
        await #expect(throws: CurlewError.self) { _ = try await reply.data() }
    }

    /// Leaves the body after its first chunk.
    private static func leave(_ reply: Reply) async throws {
        guard case .stream(let stream) = reply.body else { throw UserFailure() }
        for try await chunk in stream where !chunk.isEmpty { break }
    }

    @Test func `a reply that is too large to be collected ends its transfer`() async throws {
        let server = server
        let collecting = Wrap { request, next in
            let reply = try await next(request)
            let error = await #expect(throws: CurlewError.self) { _ = try await reply.data(upTo: 1 << 20) }
            #expect(error?.code == .limitExceeded)
            try await server.waitForOpenConnections(atMost: 0)
            return Reply(status: 204)
        }
        let request = session.streamRequest(server.url("/endless")).middleware(collecting)
        #expect(try await request.head().status == 204)
    }

    // MARK: The request

    @Test func `a file is sent, with progress`() async throws {
        let scratch = try ScratchDirectory()
        let file = scratch.file("body")
        let body = Data(repeating: 7, count: 300_000)
        try body.write(to: file)
        let adding = Wrap { request, next in
            #expect(request.httpBody == nil)
            var request = request
            request.setValue("1", forHTTPHeaderField: "X-Added")
            return try await next(request)
        }
        server.route("/echo") { call in .data(call.body) }
        let request = session.upload(file, to: server.url("/echo")).middleware(adding)
        #expect(try await request.data() == body)
        #expect(server.requests.last?.headers["X-Added"] == "1")
        #expect(request.uploadProgress.completedUnitCount == 300_000)
    }

    @Test func `credentials that libcurl answered a challenge with are remembered`() async throws {
        server.protect("/in/*")
        let statuses = Lock<[Int]>([])
        let watching = Wrap { request, next in
            let reply = try await next(request)
            statuses.withLock { $0.append(reply.head.status) }
            return reply
        }
        let first = session.request(server.url("/in/a")).middleware(watching)
        _ = try await first.authenticate(username: "ada", password: "secret").data()
        #expect(try await session.request(server.url("/in/b")).middleware(watching).string() == "in")
        // The challenge was answered within one exchange, and the second request was sent with credentials.
        #expect(statuses.withLock { $0 } == [200, 200])
        #expect(server.requests.map { $0.headers["Authorization"] != nil } == [false, true, true])
    }

    @Test func `the reply of another exchange proves no credentials`() async throws {
        server.protect("/in/*")
        let keeping = Wrap.keeping()
        let first = session.request(server.url("/in/a")).middleware(keeping)
        _ = try await first.authenticate(username: "ada", password: "secret").data()
        let second = session.request(server.url("/in/a")).middleware(keeping)
        #expect(try await second.authenticate(username: "ada", password: "wrong").string() == "in")
        #expect(server.requests.count == 2)
        // The session still has the credentials that the server has accepted.
        #expect(try await session.request(server.url("/in/b")).string() == "in")
    }
}
