import Curlew
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@Suite("The attempts of a request", .timeLimit(.minutes(4)))
struct AttemptTests {
    @Test("a request has no attempts before it has begun")
    func cold() {
        let request = Session(transport: MockTransport { _ in .text("x") }).request("https://example.org/")
        #expect(request.attempts.isEmpty)
    }

    @Test("a plain request has one attempt with one request, task and metrics")
    func plain() async throws {
        let request = Session(transport: MockTransport { _ in .text("x") }).request("https://example.org/a")
        _ = try await request.data()
        #expect(request.attempts.count == 1)
        let attempt = try #require(request.attempts.first)
        #expect(attempt.number == 0 && attempt.error == nil)
        #expect(paths(attempt) == ["/a"])
        #expect(attempt.tasks.count == 1 && attempt.metrics == [request.metrics].compactMap(\.self))
        #expect(attempt.redirects.isEmpty)
    }

    @Test("redirects belong to the attempt of the first request")
    func redirects() async throws {
        let next = ["/a": "/b", "/b": "/c"]
        let transport = MockTransport { request in next[request.path].map { .redirect(to: $0) } ?? .text("x") }
        let request = Session(transport: transport).request("https://example.org/a")
        _ = try await request.data()
        #expect(request.attempts.count == 1)
        let attempt = try #require(request.attempts.first)
        #expect(paths(attempt) == ["/a", "/b", "/c"])
        #expect(Set(attempt.tasks).count == 3 && attempt.metrics.count == 3)
        #expect(attempt.redirects.map(\.location.path) == ["/b", "/c"])
        #expect(request.request?.url?.path == "/c")
    }

    @Test("a retry begins another attempt, and the failed attempt keeps its error")
    func retry() async throws {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.redirect(to: "/b"), .status(503), .text("x"))
        let request = Session(transport: transport, interceptor: CountingRetrier(retries: 1))
            .request("https://example.org/a")
            .adapt(using: Adapter { request, _ in request })
        _ = try await request.data()
        #expect(request.attempts.map(\.number) == [0, 1] && request.retryCount == 1)
        #expect(request.attempts.map(paths) == [["/a", "/a", "/b"], ["/a", "/a"]])
        #expect(request.attempts.map(\.tasks.count) == [2, 1])
        #expect(request.attempts.map { $0.metrics.map(\.attempt) } == [[0, 0], [1]])
        #expect(request.attempts.map { $0.error?.responseCode } == [503, nil])
        #expect(request.attempts.map(\.redirects.count) == [1, 0])
        #expect(request.error == nil)
    }

    private struct Persistent: RequestInterceptor {
        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
            request.retryCount < 22 ? .retryWithDelay(0.05) : .doNotRetry
        }
    }

    @Test("of very many attempts, only the first and the last ones are kept")
    func veryMany() async {
        let transport = MockTransport(collectsBodies: false) { _ in .status(503) }
        let request = Session(transport: transport, interceptor: Persistent()).request("https://example.org/a")
        _ = await request.validate().response()
        #expect(request.retryCount == 22)
        #expect(request.attempts.map(\.number) == [0, 1] + Array(6...22))
    }

    @Test("the last attempt has the error of the request")
    func failure() async {
        let transport = MockTransport { _ in .failing(CurlewError(.connectFailed, phase: .connect)) }
        let request = Session(transport: transport, interceptor: CountingRetrier(retries: 2))
            .request("https://example.org/")
        _ = await request.response()
        #expect(request.attempts.map { $0.error?.code } == [.connectFailed, .connectFailed, .connectFailed])
        #expect(request.attempts.map { $0.error?.attempt } == [0, 1, 2])
        #expect(request.error?.attempt == 2)
    }

    @Test("an attempt that fails before sending has no tasks, and has requests if they could be made")
    func failureBeforeSending() async {
        struct Refusal: Error {}
        let session = Session(transport: MockTransport { _ in .text("x") })
        let refused = session.request("https://example.org/a").adapt(using: Adapter { _, _ in throw Refusal() })
        let invalid = session.request("")
        _ = await (refused.response(), invalid.response())
        #expect(refused.attempts.map(paths) == [["/a"]] && invalid.attempts.map(paths) == [[]])
        for (request, code) in [(refused, .adaptationFailed), (invalid, .invalidURL)] as [(_, CurlewError.Code)] {
            #expect(request.attempts.map { $0.error?.code } == [code])
            #expect(request.attempts.allSatisfy { $0.tasks.isEmpty && $0.metrics.isEmpty })
        }
    }

    @Test("an attempt that a cache answers has a task, and metrics with the cache's status")
    func cached() async throws {
        let transport = MockTransport { _ in
            var response = MockResponse.text("x")
            response.headers["Cache-Control"] = "max-age=60"
            return response
        }
        let session = Session(
            configuration: SessionConfiguration { $0.cache = ResponseCache() }, transport: transport)
        _ = try await session.request("https://example.org/").data()
        let request = session.request("https://example.org/")
        _ = try await request.data()
        #expect(transport.requests.count == 1)
        #expect(request.attempts.map(\.tasks.count) == [1])
        #expect(request.attempts.flatMap(\.metrics).map(\.cacheStatus) == [.hit])
    }

    @Test("a resumed download that starts over stays in one attempt, with two requests, tasks and metrics")
    func startingOver() async throws {
        // A server that ignores the condition sends a part of another file.
        let service = try FileService { $0.obeysIfRange = false }
        let scratch = try ScratchDirectory()
        let target = scratch.file("a")
        let session = Session()
        service.change { $0.cuts = [700_000] }
        let broken = session.download(service.url, to: destination(target))
        await #expect(throws: CurlewError.self) { try await broken.file() }
        let data = try #require(broken.resumeData)
        service.change {
            $0.seed = 2
            $0.tag = "\"v2\""
        }
        let request = session.download(resumingWith: data, to: destination(target))
        _ = try await request.file()
        #expect(request.attempts.map(\.number) == [0] && request.retryCount == 0)
        let attempt = try #require(request.attempts.first)
        #expect(attempt.requests.map { $0.value(forHTTPHeaderField: "Range") != nil } == [true, false])
        #expect(Set(attempt.tasks).count == 2 && attempt.metrics.count == 2)
    }

    @Test("a request that is repeated with stored credentials has one task with one metrics")
    func storedCredentials() async throws {
        let server = try TestServer()
        for path in ["/a/*", "/b"] { server.protect(path) }
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        _ = try await session.request(server.url("/a/page")).authenticate(username: "ada", password: "secret").data()
        let request = session.request(server.url("/b"))
        #expect(try await request.string() == "in")
        #expect(server.requests.map { $0.headers["Authorization"] != nil }.suffix(2) == [false, true])
        #expect(request.attempts.map(\.tasks.count) == [1] && request.attempts.map(\.metrics.count) == [1])
    }

    @Test("the attempt of a redirected upload shows the method of each request")
    func upload() async throws {
        let transport = MockTransport { $0.path == "/" ? .redirect(to: "/next", status: 303) : .text("x") }
        let request = Session(transport: transport).upload(Data("body".utf8), to: "https://example.org/")
        _ = try await request.data()
        #expect(request.attempts.map { $0.requests.map(\.httpMethod) } == [["POST", "GET"]])
        #expect(request.attempts.map(\.tasks.count) == [2])
    }

    @Test("between two attempts only the failed one is listed, and the request has no task")
    func between() async throws {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.status(503), .text("x"))
        let (asked, goesOn) = (Gate(), Gate())
        let retrier = Retrier { _, _, _ in
            asked.open()
            try? await goesOn.wait()
            return .retry
        }
        let request = Session(transport: transport).request("https://example.org/").retry(using: retrier)
        let body = Task { try await request.string() }
        try await asked.wait()
        let first = request.attempts
        #expect(first.map { $0.error?.responseCode } == [503])
        #expect(request.task == nil)
        goesOn.open()
        #expect(try await body.value == "x")
        #expect(request.task == nil)
        #expect(request.attempts.map(\.tasks.count) == [1, 1])
        #expect(request.attempts.first?.tasks == first.first?.tasks)
    }

    @Test("the description of an attempt leaves secrets out")
    func description() async throws {
        let request = Session(transport: MockTransport { _ in .text("x") })
            .request("https://example.org/a?token=secret", headers: ["Authorization": "Bearer secret"])
        _ = try await request.data()
        let attempt = try #require(request.attempts.first)
        #expect("\(attempt)".hasPrefix("attempt 0: GET https://example.org/a"))
        var dumped = ""
        dump(attempt, to: &dumped)
        #expect(!"\(attempt)".contains("secret") && !dumped.contains("secret"))
    }

    private func paths(_ attempt: Attempt) -> [String?] { attempt.requests.map { $0.url?.path } }
}
