import Curlew
import CurlewMetrics
import CurlewTesting
import Foundation
import Synchronization
import Testing

struct MetricsMonitorTests {
    private let backend = RecordingFactory()

    /// Returns a server, and a session that a monitor measures.
    private func start(
        _ change: (inout MetricLabels) -> Void = { _ in }
    ) async throws -> (TestServer, Session, MetricsMonitor) {
        var labels = MetricLabels()
        change(&labels)
        let monitor = MetricsMonitor(factory: backend, labels: labels)
        return (try await TestServer.start(), Session(eventMonitors: [monitor]), monitor)
    }

    @Test func aRequestIsMeasuredWithOpenTelemetrysNames() async throws {
        let (server, session, monitor) = try await start()
        let data = try await session.request(server.url("/bytes/1000?token=SECRET")).data()
        monitor.queue.sync {}

        let expected = [
            "http.request.method": "GET", "server.address": "127.0.0.1", "server.port": "\(server.port)",
            "http.response.status_code": "200", "network.protocol.version": "1.1", "curlew.attempt": "1",
            "error.type": "", "curlew.cache": "", "url.template": "",
        ]
        let durations = backend.values(of: "http.client.request.duration")
        #expect(durations.map(\.dimensions) == [expected])
        #expect(durations[0].value > 0)
        let sent = backend.values(of: "curlew.client.bytes_sent")
        #expect(sent.map(\.dimensions) == [expected])
        #expect(sent[0].value > 50)
        let sizes = backend.values(of: "curlew.client.bytes_received")
        #expect(sizes.map(\.dimensions) == [expected])
        #expect(Int(sizes[0].value) > data.count)
        #expect(backend.preferredUnits == ["http.client.request.duration": "seconds"])
        #expect(!"\(backend.all)".contains("SECRET"))
    }

    @Test func everyRequestOnTheWireIsMeasured() async throws {
        let (server, session, monitor) = try await start()
        server.script("/flaky", .redirect(to: "/gone"), .redirect(to: "/fine"))
        server.route("/gone") { _ in .status(503) }
        server.route("/fine") { _ in .text("fine") }
        let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        _ = try await session.request(server.url("/flaky")).retry(using: policy).data()
        monitor.queue.sync {}

        let durations = backend.values(of: "http.client.request.duration").map(\.dimensions)
        #expect(durations.map { $0["http.response.status_code"] } == ["302", "503", "302", "200"])
        #expect(durations.map { $0["error.type"] } == ["", "503", "", ""])
        #expect(durations.map { $0["curlew.attempt"] } == ["1", "1", "2", "2"])
        #expect(backend.values(of: "curlew.client.retries").map(\.value) == [1])
        let active = backend.values(of: "http.client.active_requests").map(\.value)
        #expect(active == [1, -1, 1, -1, 1, -1, 1, -1])
    }

    @Test func anAttemptAfterAFailedSerializerIsARetryOfItsOrigin() async throws {
        struct OneRetry: RequestRetrier {
            func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
                request.retryCount == 0 ? .retry : .doNotRetry
            }
        }
        let (server, session, monitor) = try await start()
        server.script("/flaky", .text("no JSON"), .text("7"))
        let request = session.request(server.url("/flaky"), method: .put).urlTemplate("/{name}")
            .retry(using: OneRetry())
        let value = await withCheckedContinuation { continuation in
            _ = request.responseDecodable(of: Int.self) { continuation.resume(returning: $0.value) }
        }
        #expect(value == 7)
        monitor.queue.sync {}

        let retries = backend.values(of: "curlew.client.retries").map(\.dimensions)
        #expect(
            retries == [
                [
                    "http.request.method": "PUT", "server.address": "127.0.0.1", "server.port": "\(server.port)",
                    "url.template": "/{name}",
                ]
            ])
    }

    @Test(arguments: [(404, "404"), (499, "4xx"), (599, "5xx"), (600, "_OTHER"), (999, "_OTHER")])
    func unregisteredStatusesAreCombined(status: Int, label: String) async throws {
        let server = try await TestServer.start()
        server.route("/odd") { _ in .text("odd", status: status) }
        let monitor = MetricsMonitor(factory: backend)
        _ = await Session(eventMonitors: [monitor]).request(server.url("/odd")).response()
        monitor.queue.sync {}
        let dimensions = try #require(backend.values(of: "http.client.request.duration").first?.dimensions)
        #expect(dimensions["http.response.status_code"] == label)
        #expect(dimensions["error.type"] == label)
    }

    @Test func theLabelsAreMadeWithoutALock() async throws {
        let server = try await TestServer.start()
        let other = Session().request(server.url("/other"))
        let known = Mutex<MetricsMonitor?>(nil)
        var labels = MetricLabels()
        labels.address = { origin in
            known.withLock(\.self)?.requestDidFinish(other)
            return origin.host
        }
        let monitor = MetricsMonitor(factory: backend, labels: labels)
        known.withLock { $0 = monitor }
        _ = try await Session(eventMonitors: [monitor]).request(server.url("/get")).data()
        monitor.queue.sync {}
        #expect(backend.values(of: "http.client.request.duration").count == 1)
    }

    @Test func theBackendIsCalledWithoutALock() async throws {
        let server = try await TestServer.start()
        let other = Session().request(server.url("/other"))
        let monitor = MetricsMonitor(factory: backend)
        backend.whenNextIsMade { monitor.request(other, didCreateTask: TaskIdentifier(rawValue: 1)) }
        _ = try await Session(eventMonitors: [monitor]).request(server.url("/get")).data()
        monitor.queue.sync {}
        let active = backend.values(of: "http.client.active_requests")
        #expect(active.map { $0.dimensions["server.address"] } == ["", "127.0.0.1", "127.0.0.1"])
    }

    @Test func anExchangeThatAnotherOneFollowsWithoutAnEventWasAChallenge() async throws {
        let (server, session, monitor) = try await start()
        let request = session.request(server.url("/get"))
        monitor.request(request, didCreateTask: TaskIdentifier(rawValue: 1))
        let now = Date()
        monitor.request(
            request, task: TaskIdentifier(rawValue: 1), didFinishCollecting: TransferMetrics(queued: now, ended: now))
        monitor.request(request, didCreateTask: TaskIdentifier(rawValue: 2))
        let dimensions = try #require(backend.values(of: "http.client.request.duration").first?.dimensions)
        #expect(dimensions["http.response.status_code"] == "401")
        #expect(dimensions["error.type"] == "401")
    }

    @Test func decisionsOfTheResilienceAreCounted() async throws {
        let server = try await TestServer.start()
        let monitor = MetricsMonitor(factory: backend)
        let session = Session(
            configuration: SessionConfiguration { $0.resilience.rateLimit = .requests(1, per: .seconds(3_600)) },
            eventMonitors: [monitor])
        for _ in 0..<2 { _ = await session.request(server.url("/get")).urlTemplate("/get").response() }
        monitor.queue.sync {}
        let decisions = backend.values(of: "curlew.client.decisions")
        #expect(decisions.map { $0.dimensions["curlew.decision"] } == ["admitted", "rateLimited"])
        #expect(decisions.map(\.value) == [1, 1])
        #expect(decisions.allSatisfy { $0.dimensions["url.template"] == "/get" })
        #expect(decisions.allSatisfy { $0.dimensions["server.port"] == "\(server.port)" })
        #expect(backend.values(of: "curlew.client.admission.wait").map(\.value) == [0, 0])
    }

    @Test func circuitsThatOpenAreCountedByTheirOrigin() async throws {
        let server = try await TestServer.start()
        let monitor = MetricsMonitor(factory: backend)
        let breaker = CircuitBreaker(window: .count(1), minimumCalls: 1, openFor: .seconds(3_600))
        let session = Session(
            configuration: SessionConfiguration { $0.resilience.breaker = breaker }, eventMonitors: [monitor])
        _ = await session.request(server.url("/status/503")).response()
        monitor.queue.sync {}
        let decisions = backend.values(of: "curlew.client.session.decisions")
        #expect(decisions.map(\.value) == [1])
        #expect(decisions.first?.dimensions["curlew.decision"] == "circuitOpened")
        #expect(decisions.first?.dimensions["server.port"] == "\(server.port)")
    }

    @Test func aFailureHasItsCode() async throws {
        let dead = try DeadEnd(.refusing)
        let monitor = MetricsMonitor(factory: backend)
        let session = Session(eventMonitors: [monitor])
        await #expect(throws: CurlewError.self) { try await session.request(dead.url).data() }
        monitor.queue.sync {}

        let dimensions = try #require(backend.values(of: "http.client.request.duration").first?.dimensions)
        #expect(dimensions["error.type"] == "connectFailed")
        #expect(dimensions["http.response.status_code"] == "")
        #expect(backend.values(of: "http.client.active_requests").map(\.value) == [1, -1])
    }

    @Test func aCancelledRequestIsNotActive() async throws {
        let (server, session, monitor) = try await start()
        server.route("/hang") { _ in .hanging }
        let task = Task { try await session.request(server.url("/hang")).data() }
        _ = try await server.waitForRequests(count: 1)
        task.cancel()
        _ = await task.result
        monitor.queue.sync {}

        #expect(backend.values(of: "http.client.active_requests").map(\.value) == [1, -1])
        let dimensions = try #require(backend.values(of: "http.client.request.duration").first?.dimensions)
        #expect(dimensions["error.type"] == "cancelled")
    }

    @Test func dimensionsAreBounded() async throws {
        let (server, session, monitor) = try await start { $0.originLimit = 1 }
        _ = try await session.request(server.url("/get")).data()
        let other = try #require(URL(string: "http://localhost:\(server.port)/status/200"))
        _ = await session.request(other, method: HTTPMethod(rawValue: "BREW")).response()
        monitor.queue.sync {}

        let dimensions = backend.values(of: "http.client.request.duration").map(\.dimensions)
        #expect(dimensions.map { $0["server.address"] } == ["127.0.0.1", "_OTHER"])
        #expect(dimensions.map { $0["http.request.method"] } == ["GET", "_OTHER"])
    }

    @Test func theTemplateIsADimensionOfEveryAttemptButNotOfRedirects() async throws {
        let (server, session, monitor) = try await start()
        server.route("/items/7") { _ in .redirect(to: "/new/7") }
        server.script("/new/7", .status(503), .text("fine"))
        let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
        _ = try await session.request(server.url("/items/7")).urlTemplate("/items/{id}").retry(using: policy).data()
        monitor.queue.sync {}

        for name in ["http.client.request.duration", "curlew.client.bytes_received"] {
            let templates = backend.values(of: name).map { $0.dimensions["url.template"] }
            #expect(templates == ["/items/{id}", "", "/items/{id}", ""])
        }
        let active = backend.values(of: "http.client.active_requests")
        #expect(active.filter { $0.dimensions["url.template"] == "/items/{id}" }.map(\.value) == [1, -1, 1, -1])
        // The redirect's exchange was the one that failed.
        #expect(backend.values(of: "curlew.client.retries").map { $0.dimensions["url.template"] } == [""])
    }

    @Test func templatesAreBounded() async throws {
        let (server, session, monitor) = try await start { $0.templateLimit = 1 }
        _ = try await session.request(server.url("/get")).data()
        for template in ["/bytes/{count}", "/bytes/2", "/bytes/{count}"] {
            _ = try await session.request(server.url("/bytes/2")).urlTemplate(template).data()
        }
        monitor.queue.sync {}
        let dimensions = backend.values(of: "http.client.request.duration").map(\.dimensions)
        #expect(dimensions.map { $0["url.template"] } == ["", "/bytes/{count}", "_OTHER", "/bytes/{count}"])
    }

    @Test func aMetricAlwaysHasTheSameDimensions() async throws {
        let (server, session, monitor) = try await start()
        let dead = try DeadEnd(.refusing)
        _ = try await session.request(server.url("/get")).data()
        _ = await session.request(server.url("/status/404")).response()
        _ = await session.request(dead.url).retry(using: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0))
            .response()
        monitor.queue.sync {}
        for (label, values) in Dictionary(grouping: backend.all, by: \.label) {
            #expect(Set(values.map { Set($0.dimensions.keys) }).count == 1, "\(label)")
        }
    }

    @Test func originsCanBeCombined() async throws {
        let (server, session, monitor) = try await start { $0.address = { _ in "backend" } }
        _ = try await session.request(server.url("/get")).data()
        monitor.queue.sync {}
        #expect(backend.values(of: "http.client.request.duration").first?.dimensions["server.address"] == "backend")
    }

    @Test func thePartOfTheCacheIsADimension() async throws {
        let server = try await TestServer.start()
        server.route("/stored") { _ in .text("fine").header("Cache-Control", "max-age=60") }
        let monitor = MetricsMonitor(factory: backend)
        let session = Session(
            configuration: SessionConfiguration { $0.cache = ResponseCache() }, eventMonitors: [monitor])
        for _ in 0..<2 { _ = try await session.request(server.url("/stored")).data() }
        monitor.queue.sync {}
        let dimensions = backend.values(of: "http.client.request.duration").map(\.dimensions)
        #expect(dimensions.map { $0["curlew.cache"] } == ["miss", "hit"])
    }

    @Test func connectionsAreCounted() async throws {
        let server = try await TestServer.start()
        let session = Session()
        let metrics = ConnectionMetrics(of: session, factory: backend)
        _ = try await session.request(server.url("/get")).data()
        await metrics.record()

        let open = backend.values(of: "http.client.open_connections")
        #expect(Set(open.map(\.dimensions)).count == 2)
        #expect(open.first { $0.dimensions["http.connection.state"] == "idle" }?.value == 1)
        #expect(open.first { $0.dimensions["http.connection.state"] == "active" }?.value == 0)

        await session.invalidate()
        await metrics.record()
        #expect(backend.values(of: "http.client.open_connections").suffix(2).map(\.value) == [0, 0])
    }
}
