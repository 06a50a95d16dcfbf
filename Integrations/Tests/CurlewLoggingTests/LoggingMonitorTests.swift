import Curlew
import CurlewLogging
import CurlewTesting
import Foundation
import FoundationNetworking
import Logging
import Synchronization
import Testing

struct LoggingMonitorTests {
    @Test func aRequestIsLoggedWithoutItsSecrets() async throws {
        let server = try await TestServer.start()
        let log = Log()
        let logging = LoggingMonitor(log.logger(at: .debug))
        let session = Session(interceptor: logging, eventMonitors: [logging])
        let url = server.url("/get?token=SECRET").withUser("name", password: "PASSWORD")
        _ = try await session.request(url, headers: [.authorization(bearerToken: "TOKEN")]).data()
        logging.queue.sync {}

        let end = try #require(log.lines.last { $0.message == "exchange ended" })
        #expect(end.level == .info)
        #expect(end.metadata["http.request.method"] == "GET")
        #expect(end.metadata["http.response.status_code"] == "200")
        #expect(end.metadata["curlew.attempt"] == "1")
        #expect(end.metadata["curlew.hedge"] == nil)
        #expect(end.source == "Curlew")
        for secret in ["SECRET", "PASSWORD", "TOKEN"] { #expect(!"\(log.lines)".contains(secret)) }
    }

    @Test func theLoggerOfTheTaskIsCapturedWhenTheRequestBegins() async throws {
        let server = try await TestServer.start()
        let (first, second) = (Log(), Log())
        let logging = LoggingMonitor()
        let session = Session(interceptor: logging, eventMonitors: [logging])
        try await withLogger(first.logger(at: .debug, metadata: ["request-id": "1"])) { _ in
            _ = try await session.request(server.url("/get")).data()
        }
        try await withLogger(second.logger(at: .info, metadata: ["request-id": "2"])) { _ in
            _ = try await session.request(server.url("/get")).data()
        }
        logging.queue.sync {}

        #expect(first.lines.map(\.message).suffix(2) == ["exchange started", "exchange ended"])
        #expect(second.lines.map(\.message) == ["exchange ended"])
        #expect(first.lines.allSatisfy { $0.metadata["request-id"] == "1" })
        #expect(second.lines.allSatisfy { $0.metadata["request-id"] == "2" })
    }

    @Test func aRequestThatIsNotAdmittedIsLoggedWithTheReason() async throws {
        let log = Log()
        let logging = LoggingMonitor(log.logger(at: .info))
        let session = Session(
            configuration: SessionConfiguration { $0.resilience.concurrency = .fixed(1) }, interceptor: logging,
            eventMonitors: [logging])
        let server = try await TestServer.start()
        server.route("/hang") { _ in .hanging }
        let first = session.request(server.url("/hang"))
        async let held = first.response()
        _ = try await server.waitForRequests(count: 1)
        _ = await session.request(server.url("/get")).timeouts { $0.queue = .zero }.response()
        logging.queue.sync {}
        let line = try #require(log.lines.first)
        #expect(line.level == .warning)
        #expect(line.message == "request not admitted")
        #expect(line.metadata["curlew.reason"] == "all places of the concurrency limit are taken")
        first.cancel()
        _ = await held
    }

    @Test func aCircuitThatOpensIsLoggedWithTheReason() async throws {
        let log = Log()
        let logging = LoggingMonitor(log.logger(at: .warning))
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(10))
        let session = Session(
            configuration: SessionConfiguration { $0.resilience.breaker = breaker }, interceptor: logging,
            eventMonitors: [logging])
        let server = try await TestServer.start()
        _ = await session.request(server.url("/status/503")).response()
        logging.queue.sync {}
        let line = try #require(log.lines.first { $0.message == "circuit opened" })
        #expect(line.level == .warning)
        let reason = "open for 10.0 seconds, because 1 of 1 attempts failed"
        #expect(line.metadata["curlew.reason"] == "http://127.0.0.1:\(server.port): \(reason)")
    }

    @Test func metadataOfAProviderIsThatOfTheRequestingTask() async throws {
        let server = try await TestServer.start()
        let log = Log()
        let provider = Logger.MetadataProvider { Trace.id.map { ["trace-id": "\($0)"] } ?? [:] }
        let session = Session()
        let logger = log.logger(at: .info, provider: provider)
        try await Trace.$id.withValue("abc") {
            _ = try await session.request(server.url("/get")).logging(to: logger).data()
        }
        let line = try await log.firstLine()
        #expect(line.metadata["trace-id"] == "abc")
    }

    @Test func attemptsThatAreRetriedAreDetails() async throws {
        let server = try await TestServer.start()
        server.script("/flaky", .status(503), .text("fine"))
        let log = Log()
        let logging = LoggingMonitor(log.logger(at: .info))
        let session = Session(interceptor: logging, eventMonitors: [logging])
        let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        _ = try await session.request(server.url("/flaky")).retry(using: policy).data()
        logging.queue.sync {}

        #expect(log.lines.map(\.message) == ["request retries", "exchange ended"])
        #expect(log.lines.last?.metadata["curlew.attempt"] == "2")
    }

    @Test(arguments: [true, false])
    func aHedgedRequestIsLoggedWithTheOutcomeOfItsSecondCopy(hasWon: Bool) async throws {
        let (never, second) = (Gate(), Gate())
        let transport = MockTransport { request in
            let isSecond = request.index == 1
            if isSecond { second.open() }
            // The winner responds when the second copy has been sent, and the other copy not at all.
            try await (isSecond == hasWon ? second : never).wait()
            return .text("fine")
        }
        var hedging = Hedging.after(.zero)
        hedging.maximumShare = 1
        var configuration = SessionConfiguration()
        configuration.resilience.hedging = hedging
        let log = Log()
        let logging = LoggingMonitor(log.logger(at: .info))
        let session = Session(
            configuration: configuration, transport: transport, interceptor: logging, eventMonitors: [logging])
        _ = try await session.request("https://api.example.org/x").data()
        logging.queue.sync {}

        let end = try #require(log.lines.last { $0.message == "exchange ended" })
        #expect(end.metadata["curlew.hedge"] == (hasWon ? "won" : "lost"))
    }

    @Test func anAttemptAfterAFailedSerializerHasTheSameLogger() async throws {
        let server = try await TestServer.start()
        server.script("/flaky", .text("no JSON"), .text("7"))
        let log = Log()
        let logging = LoggingMonitor()
        let session = Session(interceptor: logging, eventMonitors: [logging])
        let request = session.request(server.url("/flaky")).retry(using: OneRetry())
        let value = await withLogger(log.logger(at: .info, metadata: ["request-id": "1"])) { _ in
            await withCheckedContinuation { continuation in
                _ = request.responseDecodable(of: Int.self) { continuation.resume(returning: $0.value) }
            }
        }
        #expect(value == 7)
        logging.queue.sync {}

        #expect(log.lines.map(\.message) == ["exchange ended", "request retries", "exchange ended"])
        #expect(log.lines.allSatisfy { $0.metadata["request-id"] == "1" })
        #expect(log.lines.last?.metadata["curlew.attempt"] == "2")
    }

    @Test func loggersOfFinishedRequestsAreBounded() async throws {
        let server = try await TestServer.start()
        let logging = LoggingMonitor(Log().logger(at: .critical))
        let session = Session(interceptor: logging, eventMonitors: [logging])
        for _ in 0..<1100 { _ = try await session.request(server.url("/get")).data() }
        logging.queue.sync {}
        #expect((1...1000).contains(logging.capturedCount))
    }

    @Test func loggersOfAnInterceptorAloneAreBounded() async throws {
        let logging = LoggingMonitor(Log().logger(at: .critical))
        let session = Session()
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1")))
        for _ in 0..<25_000 {
            _ = try await logging.adapt(request, using: RequestAdapterState(requestID: UUID(), session: session))
        }
        #expect((1...10_000).contains(logging.capturedCount))
    }

    @Test func failuresAreErrorsWithTheirCode() async throws {
        let log = Log()
        let logging = LoggingMonitor(log.logger(at: .warning))
        let session = Session(interceptor: logging, eventMonitors: [logging])
        let dead = try DeadEnd(.refusing)
        await #expect(throws: CurlewError.self) { try await session.request(dead.url).data() }
        logging.queue.sync {}

        let line = try #require(log.lines.first)
        #expect(line.level == .error)
        #expect(line.metadata["error.type"] == "connectFailed")
    }

    @Test func levelsAndKeysCanBeChosen() async throws {
        let server = try await TestServer.start()
        let log = Log()
        var style = LogStyle()
        style.level = { $0 == .info ? .trace : .critical }
        style.keys.status = "status"
        let logging = LoggingMonitor(log.logger(at: .trace), style: style)
        let session = Session(eventMonitors: [logging])
        _ = try await session.request(server.url("/get")).data()
        logging.queue.sync {}

        let end = try #require(log.lines.last)
        #expect(end.level == .trace)
        #expect(end.metadata["status"] == "200")
    }
}

/// Retries a failure once.
private struct OneRetry: RequestRetrier {
    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        request.retryCount == 0 ? .retry : .doNotRetry
    }
}

private enum Trace {
    @TaskLocal static var id: String?
}

extension URL {
    fileprivate func withUser(_ user: String, password: String) -> URL {
        var components = URLComponents(url: self, resolvingAgainstBaseURL: false)!
        components.user = user
        components.password = password
        return components.url!
    }
}
