import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct RetryAndAdaptTests {
    @Test func awaitingMethodsRetryUnacceptableStatuses() async throws {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.status(503), .status(503), .text("third"))
        let request = Session(transport: transport, interceptor: CountingRetrier(retries: 5))
            .request("https://example.org/")
        #expect(try await request.string() == "third")
        #expect(request.retryCount == 2)
        #expect(request.attempts.map(\.tasks.count) == [1, 1, 1])
        #expect(request.attempts.flatMap(\.metrics).map(\.attempt) == [0, 1, 2])
        #expect(request.error == nil)
    }

    @Test func failedAttemptHasNoResponseOfThePreviousOne() async {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.status(401), .failing(CurlewError(.connectFailed, phase: .connect)))
        let seen = Gate()
        let retrier = Retrier { request, _, _ in
            if request.retryCount == 0 { return .retry }
            if request.response == nil { seen.open() }
            return .doNotRetry
        }
        let request = Session(transport: transport).request("https://example.org/").retry(using: retrier).validate()
        let response = await request.response()
        #expect(response.error?.code == .connectFailed)
        #expect(response.error?.responseCode == nil)
        #expect(response.response == nil)
        #expect(seen.isOpen)
    }

    @Test(arguments: [Double.infinity, .nan, -1, .greatestFiniteMagnitude])
    func infiniteOrInvalidDelaysAreBounded(_ seconds: Double) async throws {
        let transport = MockTransport(collectsBodies: false)
        transport.enqueue(.status(503), .text("second"))
        let policy = RetryPolicy(exponentialBackoffScale: 0, maximumDelay: seconds)
        let request = Session(transport: transport, interceptor: policy).request("https://example.org/") {
            $0.timeoutInterval = seconds
        }
        #expect(try await request.string() == "second")
        let endless = Session(transport: MockTransport { _ in .status(503) }).request("https://example.org/")
            .retry(using: Retrier { _, _, _ in .retryWithDelay(seconds) })
            .validate()
            .timeouts { $0.total = .milliseconds(50) }
        #expect(await endless.response().error?.code == .totalTimedOut)
    }

    @Test func anUnacceptableStatusCarriesCodeAndBody() async {
        let session = Session(transport: MockTransport { _ in .text("gone", status: 404) })
        do throws(CurlewError) {
            _ = try await session.request("https://example.org/?token=secret").data()
            Issue.record("accepted")
        } catch {
            #expect(error.code == .unacceptableStatus)
            #expect(error.responseCode == 404)
            #expect(error.responseBody == Data("gone".utf8))
            #expect(!error.description.contains("secret"))
            #expect(error.metrics != nil)
        }
    }

    @Test func validationsOfTheChainReplaceThoseOfAwaitingMethods() async throws {
        let session = Session(transport: MockTransport { _ in .text("teapot", status: 418) })
        let url = "https://example.org/"
        #expect(try await session.request(url).acceptingAnyStatus().string() == "teapot")
        #expect(try await session.request(url).validate(statusCode: [418]).string() == "teapot")
        await #expect(throws: CurlewError.self) { try await session.request(url).validate(statusCode: [200]).string() }
        #expect(await session.request(url).response().error == nil)
    }

    @Test func eachAwaitingMethodValidatesForItself() async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return .text("no", status: 404)
        }
        let request = Session(transport: transport).request("https://example.org/")
        async let strict = Result { try await request.data() }
        try await transport.waitForRequests(count: 1)
        async let lenient = request.response()
        gate.open()
        #expect((await strict.failure as? CurlewError)?.code == .unacceptableStatus)
        #expect(await lenient.error == nil)
        #expect(await lenient.data == Data("no".utf8))
    }

    @Test func adaptersRunSessionFirst() async throws {
        let transport = MockTransport { .text($0.headers["X-Trace"] ?? "") }
        let session = Session(transport: transport, interceptor: Tracing("s"))
        let request = session.request("https://example.org/", interceptor: Tracing("r")).adapt(using: Tracing("l"))
        #expect(try await request.string() == "srl")
        #expect(request.attempts.map(\.requests.count) == [2])
    }

    enum Adaptation: CaseIterable { case field, body, stream, cookies }

    @Test("an adapter's change of a single part of the request is sent", arguments: Adaptation.allCases)
    func anAdaptersOnlyChangeIsSent(_ change: Adaptation) async throws {
        let transport = MockTransport { _ in .text("x") }
        let jar = CookieJar()
        jar.set(Cookie(name: "a", value: "b", domain: "example.org", created: Date()))
        let adapter = Adapter { request, _ in
            var request = request
            switch change {
            case .field: request.setValue("1", forHTTPHeaderField: "X-Added")
            case .body: request.httpBody = Data("body".utf8)
            case .stream: request.httpBodyStream = InputStream(data: Data("body".utf8))
            case .cookies: request.httpShouldHandleCookies = false
            }
            return request
        }
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: transport)
        _ = try await session.request("https://example.org/", method: .post).adapt(using: adapter).data()
        let sent = try #require(transport.requests.first)
        #expect((sent.headers["X-Added"] == "1") == (change == .field))
        #expect((sent.bodyText == "body") == (change == .body || change == .stream))
        #expect((sent.headers["Cookie"] == nil) == (change == .cookies))
    }

    @Test func failingAdapterAsksTheRetrier() async {
        let retrier = CountingRetrier(retries: 0)
        let request = Session(transport: MockTransport { _ in .text("x") }, interceptor: retrier)
            .request("https://example.org/")
            .adapt(using: Failing())
        let response = await request.response()
        #expect(response.error?.code == .adaptationFailed)
        #expect(retrier.calls.all == [.adaptationFailed])
        #expect(request.attempts.flatMap(\.tasks).isEmpty)
    }

    enum Phase: CaseIterable { case adapt, retry, delay, redirect }

    @Test(arguments: Phase.allCases)
    func cancelEndsEveryAsyncHandler(_ phase: Phase) async throws {
        let gate = Gate()
        let transport = MockTransport { _ in
            switch phase {
            case .adapt: .status(200)
            case .redirect: .redirect(to: "/next")
            case .retry, .delay: .status(500)
            }
        }
        let session = Session(transport: transport)
        let request = session.request("https://example.org/")
        switch phase {
        case .adapt: request.adapt(using: Stuck(gate: gate))
        case .retry: request.retry(using: Stuck(gate: gate))
        case .redirect: request.redirect(using: Stuck(gate: gate))
        case .delay: request.retry(using: Delaying(gate: gate))
        }
        async let answer = Result { try await request.data() }
        try await gate.waitForArrivals(count: 1)
        if phase == .delay { gate.open() }
        request.cancel()
        let result = await answer
        #expect((result.failure as? CurlewError)?.code == .cancelled)
        #expect(!Task.isCancelled)
        #expect(request.retryCount == 0)
        #expect(await session.activeRequests.isEmpty)
    }

    @Test func theTotalTimeoutSpansRetries() async {
        let session = Session(transport: MockTransport { _ in .status(500) })
        let request = session.request("https://example.org/").timeouts { $0.total = .milliseconds(50) }
            .retry(using: Delaying(gate: nil))
        let error = await Result { try await request.data() }.failure as? CurlewError
        #expect(error?.code == .totalTimedOut)
        // The error has the status of the attempt that was to be retried.
        #expect(error?.responseCode == 500)
    }

    enum Wait: CaseIterable { case adapter, retrier, redirectHandler }

    @Test(arguments: Wait.allCases)
    func totalTimeoutErrorNamesItsPhase(_ wait: Wait) async {
        let gate = Gate()
        let transport = MockTransport { _ in wait == .retrier ? .status(500) : .redirect(to: "/next") }
        let request = Session(transport: transport).request("https://example.org/")
            .timeouts { $0.total = .milliseconds(50) }
        switch wait {
        case .adapter: request.adapt(using: Stuck(gate: gate))
        case .retrier: request.retry(using: Stuck(gate: gate))
        case .redirectHandler: request.redirect(using: Stuck(gate: gate))
        }
        let error = await Result { try await request.data() }.failure as? CurlewError
        #expect(error?.code == .totalTimedOut)
        switch wait {
        case .adapter: #expect(error?.phase == .adaptation)
        case .retrier:
            #expect(error?.phase == .retry)
            #expect((error?.underlying as? CurlewError)?.responseCode == 500)
            #expect(error?.responseCode == 500)
        case .redirectHandler: #expect(error?.phase == .redirect)
        }
    }

    @Test func retryConvertsTheRequestAgain() async throws {
        let transport = MockTransport { $0.path == "/2" ? .text("two") : .status(500) }
        let request = Session(transport: transport, interceptor: CountingRetrier(retries: 3)).request(Sequence())
        #expect(try await request.string() == "two")
        #expect(transport.requests.map(\.path) == ["/0", "/1", "/2"])
    }

    private final class Sequence: URLRequestConvertible {
        private let calls = Recorded<Int>()

        func asURLRequest() throws -> URLRequest {
            calls.note(0)
            return try URLRequest(url: "https://example.org/\(calls.all.count - 1)", method: .get)
        }
    }
}

private struct Tracing: RequestInterceptor {
    let name: String

    init(_ name: String) { self.name = name }

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        var request = urlRequest
        request.setValue((request.value(forHTTPHeaderField: "X-Trace") ?? "") + name, forHTTPHeaderField: "X-Trace")
        return request
    }
}

private struct Failing: RequestAdapter {
    struct Refusal: Error {}

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        throw Refusal()
    }
}

private struct Stuck: RequestInterceptor, RedirectHandler {
    let gate: Gate

    func task(
        _ task: TaskIdentifier, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse
    ) async -> URLRequest? {
        try? await gate.wait()
        return request
    }

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await gate.wait()
        return urlRequest
    }

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        try? await gate.wait()
        return .retry
    }
}

private struct Delaying: RequestRetrier {
    let gate: Gate?

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        try? await gate?.wait()
        return .retryWithDelay(100)
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }

    var failure: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}
