import Curlew
import CurlewTesting
import CurlewTracing
import Foundation
import FoundationNetworking
import Testing
import Tracing

struct TracingMonitorTests {
    private let tracer = RecordingTracer()

    private func session(_ tracing: TracingMonitor) -> Session {
        Session(
            configuration: SessionConfiguration { $0.exchangeAdapters = [tracing] }, eventMonitors: [tracing])
    }

    @Test func aRequestHasAClientSpan() async throws {
        let server = try await TestServer.start()
        let tracing = TracingMonitor(tracer: tracer)
        _ = try await session(tracing).request(server.url("/get?token=SECRET")).data()
        tracing.queue.sync {}

        let span = try #require(tracer.finished.first)
        #expect(tracer.spans.count == 1)
        #expect(span.kind == .client)
        #expect(span.operationName == "GET")
        #expect(span.status == nil)
        #expect(
            span.texts == [
                "http.request.method": "GET", "server.address": "127.0.0.1", "server.port": "\(server.port)",
                "url.full": "http://127.0.0.1:\(server.port)/get?token=_", "http.response.status_code": "200",
                "network.protocol.version": "1.1", "network.peer.address": "127.0.0.1",
                "network.peer.port": "\(server.port)",
            ])
        #expect(server.requests.first?.headers["traceparent"] == span.id)
    }

    @Test func everyRequestOnTheWireHasASiblingSpanAndItsOwnContext() async throws {
        let server = try await TestServer.start()
        server.script("/flaky", .redirect(to: "/gone"), .redirect(to: "/fine"))
        server.route("/gone") { _ in .status(503) }
        server.route("/fine") { _ in .text("fine") }
        let tracing = TracingMonitor(tracer: tracer)
        let session = session(tracing)
        let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        var parent = ServiceContext.topLevel
        parent[SpanID.self] = "parent"
        _ = try await ServiceContext.$current.withValue(parent) {
            try await session.request(server.url("/flaky")).retry(using: policy).data()
        }
        tracing.queue.sync {}

        let spans = tracer.finished
        #expect(spans.count == 4)
        #expect(spans.allSatisfy { $0.parentID == "parent" && $0.endCount == 1 })
        #expect(spans.map { $0.texts["http.response.status_code"] } == ["302", "503", "302", "200"])
        #expect(spans.map { $0.texts["http.request.resend_count"] } == [nil, "1", "2", "3"])
        #expect(spans.map { $0.texts["error.type"] } == [nil, "503", nil, nil])
        #expect(spans.map { $0.status?.code } == [nil, .error, nil, nil])
        #expect(server.requests.map { $0.headers["traceparent"] } == spans.map(\.id))
    }

    @Test func aChallengeThatTheSessionAnswersHasASpanOfItsOwn() async throws {
        let server = try await TestServer.start()
        for path in ["/in/a", "/other"] {
            server.route(path) { request in
                guard request.headers["Authorization"] != nil else {
                    return .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"r\"")
                }
                return .text("in")
            }
        }
        let tracing = TracingMonitor(tracer: tracer)
        let session = session(tracing)
        _ = try await session.request(server.url("/in/a")).authenticate(username: "ada", password: "secret").data()
        tracing.queue.sync {}
        let before = tracer.spans.count
        _ = try await session.request(server.url("/other")).data()
        tracing.queue.sync {}

        let spans = Array(tracer.finished.dropFirst(before))
        #expect(spans.map { $0.texts["http.response.status_code"] } == ["401", "200"])
        #expect(spans.map { $0.texts["http.request.resend_count"] } == [nil, "1"])
        #expect(spans.allSatisfy { $0.endCount == 1 })
        #expect(server.requests.suffix(2).map { $0.headers["traceparent"] } == spans.map(\.id))
    }

    @Test func anExchangeThatAnotherOneFollowsWithoutAnEventWasAChallenge() async throws {
        let tracing = TracingMonitor(tracer: tracer)
        let request = session(tracing).request("http://127.0.0.1:1/")
        for number in 1...2 as ClosedRange<UInt64> {
            let exchange = ExchangeInfo(
                requestID: request.id, resendCount: Int(number) - 1,
                url: try #require(URL(string: "http://127.0.0.1:1/")),
                task: TaskIdentifier(rawValue: number))
            tracing.request(request, didCreateTask: exchange.task)
            _ = try await tracing.adapt(URLRequest(url: exchange.url), for: exchange)
        }
        let span = try #require(tracer.finished.first)
        #expect(tracer.finished.count == 1)
        #expect(span.texts["http.response.status_code"] == "401")
        #expect(span.status?.code == .error)
    }

    @Test func sessionsMayShareAMonitor() async throws {
        let server = try await TestServer.start()
        let tracing = TracingMonitor(tracer: tracer)
        let (first, second) = (session(tracing), session(tracing))
        async let one = first.request(server.url("/status/201")).data()
        async let two = second.request(server.url("/status/202")).data()
        _ = try await (one, two)
        tracing.queue.sync {}
        #expect(Set(tracer.finished.map { $0.texts["http.response.status_code"] }) == ["201", "202"])
        #expect(tracer.finished.map(\.endCount) == [1, 1])
    }

    @Test func aStreamHasASpanThatEndsWithIt() async throws {
        let server = try await TestServer.start()
        let tracing = TracingMonitor(tracer: tracer)
        for try await _ in session(tracing).streamRequest(server.url("/bytes/100000")).chunks {}
        tracing.queue.sync {}
        #expect(tracer.finished.map { $0.texts["http.response.status_code"] } == ["200"])
    }

    @Test func everySegmentOfADownloadHasASpan() async throws {
        let server = try await TestServer.start()
        let tracing = TracingMonitor(tracer: tracer)
        let session = session(tracing)
        _ = try await session.download(server.url("/range/9000000")).segments(3).data()
        tracing.queue.sync {}
        #expect(tracer.spans.count == server.requests.count)
        #expect(tracer.spans.count > 1)
        #expect(tracer.spans.allSatisfy { $0.endCount == 1 })
    }

    @Test func aRedirectToAnotherOriginHasASpanButNoContext() async throws {
        let (server, other) = try await (TestServer.start(), TestServer.start())
        server.script("/away", .redirect(to: other.url("/get").absoluteString))
        let tracing = TracingMonitor(tracer: tracer)
        _ = try await session(tracing).request(server.url("/away")).data()
        tracing.queue.sync {}
        #expect(tracer.finished.count == 2)
        #expect(other.requests.first?.headers["traceparent"] == nil)
    }

    @Test func theContextCanCrossOrigins() async throws {
        let (server, other) = try await (TestServer.start(), TestServer.start())
        server.script("/away", .redirect(to: other.url("/get").absoluteString))
        let tracing = TracingMonitor(tracer: tracer, injectsAcrossOrigins: true)
        _ = try await session(tracing).request(server.url("/away")).data()
        #expect(other.requests.first?.headers["traceparent"] == "2")
    }

    @Test func theAdmissionOfAnAttemptIsAnAttributeOfItsFirstSpan() async throws {
        let server = try await TestServer.start()
        server.route("/moved") { _ in .redirect(to: "/get") }
        let tracing = TracingMonitor(tracer: tracer)
        let session = Session(
            configuration: SessionConfiguration {
                $0.exchangeAdapters = [tracing]
                $0.resilience.rateLimit = .requests(1, per: .seconds(3_600))
            }, eventMonitors: [tracing])
        _ = try await session.request(server.url("/moved")).data()
        await #expect(throws: CurlewError.self) { try await session.request(server.url("/get")).data() }
        tracing.queue.sync {}
        #expect(tracer.finished.map { $0.texts["curlew.admission"] } == ["admitted at once", nil])
    }

    @Test func aFailureIsRecorded() async throws {
        let dead = try DeadEnd(.refusing)
        let tracing = TracingMonitor(tracer: tracer)
        let session = session(tracing)
        await #expect(throws: CurlewError.self) { try await session.request(dead.url).data() }
        tracing.queue.sync {}

        let span = try #require(tracer.finished.first)
        #expect(span.texts["error.type"] == "connectFailed")
        #expect(span.status?.code == .error)
        #expect(span.errorCount == 1)
        #expect(span.endCount == 1)
    }

    @Test func aCancelledRequestEndsItsSpan() async throws {
        let server = try await TestServer.start()
        server.route("/hang") { _ in .hanging }
        let tracing = TracingMonitor(tracer: tracer)
        let session = session(tracing)
        let task = Task { try await session.request(server.url("/hang")).data() }
        _ = try await server.waitForRequests(count: 1)
        task.cancel()
        _ = await task.result
        tracing.queue.sync {}
        #expect(tracer.finished.first?.texts["error.type"] == "cancelled")
    }

    @Test func anErrorOfALaterAdapterEndsTheSpan() async throws {
        struct Failing: ExchangeAdapter {
            func adapt(_ urlRequest: URLRequest, for exchange: ExchangeInfo) async throws -> URLRequest {
                throw URLError(.badURL)
            }
        }
        let tracing = TracingMonitor(tracer: tracer)
        let session = Session(
            configuration: SessionConfiguration { $0.exchangeAdapters = [tracing, Failing()] },
            eventMonitors: [tracing])
        await #expect(throws: CurlewError.self) { try await session.request("http://127.0.0.1:1/").data() }
        tracing.queue.sync {}
        #expect(tracer.finished.map(\.endCount) == [1])
        #expect(tracer.finished.first?.texts["error.type"] == "adaptationFailed")
    }

    @Test func spansOfAnAdapterAloneAreBounded() async throws {
        let tracing = TracingMonitor(tracer: tracer)
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let count = 25_000
        for number in 0..<count {
            let exchange = ExchangeInfo(url: url, task: TaskIdentifier(rawValue: UInt64(number)))
            _ = try await tracing.adapt(URLRequest(url: url), for: exchange)
        }
        #expect((1...10_000).contains(tracing.startedCount))
        #expect(tracer.finished.count == count - tracing.startedCount)
        #expect(tracer.finished.allSatisfy { $0.endCount == 1 })
    }

    @Test func theTemplateIsPartOfTheName() async throws {
        let server = try await TestServer.start()
        let tracing = TracingMonitor(tracer: tracer) {
            $0.url?.path.hasPrefix("/status/") == true ? "/status/{code}" : nil
        }
        let session = session(tracing)
        _ = await session.request(server.url("/status/404")).response()
        _ = await session.request(server.url("/get"), method: HTTPMethod(rawValue: "BREW")).response()
        tracing.queue.sync {}

        #expect(tracer.finished.map(\.operationName) == ["GET /status/{code}", "HTTP"])
        #expect(tracer.finished[0].texts["url.template"] == "/status/{code}")
        #expect(tracer.finished[0].texts["error.type"] == "404")
        #expect(tracer.finished[1].texts["http.request.method"] == "_OTHER")
        #expect(tracer.finished[1].texts["http.request.method_original"] == "BREW")
    }

    @Test func theRequestsOwnTemplateIsUsedFirstButNotForRedirects() async throws {
        let server = try await TestServer.start()
        server.route("/items/{id}") { _ in .redirect(to: "/get") }
        let tracing = TracingMonitor(tracer: tracer) { _ in "/fallback" }
        let session = session(tracing)
        _ = try await session.request(server.url("/items/7")).urlTemplate("/items/{id}").data()
        _ = try await session.request(server.url("/get")).data()
        tracing.queue.sync {}
        #expect(tracer.finished.map(\.operationName) == ["GET /items/{id}", "GET /fallback", "GET /fallback"])
        #expect(tracer.finished.map { $0.texts["url.template"] } == ["/items/{id}", "/fallback", "/fallback"])
    }

    @Test func passwordsOfTheURLAreLeftOut() async throws {
        let server = try await TestServer.start()
        let tracing = TracingMonitor(tracer: tracer)
        _ = await session(tracing).request("http://name:PASSWORD@127.0.0.1:\(server.port)/get#FRAGMENT").response()
        tracing.queue.sync {}
        let texts = try #require(tracer.finished.first?.texts)
        #expect(!"\(texts)".contains("PASSWORD"))
        #expect(!"\(texts)".contains("FRAGMENT"))
    }
}
