import CurlewAlamofire
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Requests that are set up as soon as they are created.
@Suite(.timeLimit(.minutes(4)))
struct EagerSetupTests {
    @Test func aRequestIsSetUpBeforeItStarts() async throws {
        let transport = MockTransport { _ in .text("x") }
        let monitor = RecordingMonitor()
        let session = Session(transport: transport, requestSetup: .eager, eventMonitors: [monitor])
        let request = session.request("https://example.org/a")
        // The task has its identifier before monitors hear of it.
        try await eventually { monitor.events.all.contains("didCreateTask") }
        #expect(request.task != nil && request.isInitialized)
        #expect(request.request?.url?.path() == "/a")
        #expect(request.cURLDescription().contains("https://example.org/a"))
        #expect(await session.activeRequests == [request])
        #expect(transport.requests.isEmpty)
        #expect(try await request.string() == "x")
        #expect(request.tasks.count == 1)
        // The task that set the request up leaves the session after the awaiting method has returned.
        while await !session.activeRequests.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        await monitor.queue.settled()
        #expect(
            monitor.events.all == [
                "didCreateInitial", "didCreate", "didCreateTask", "didResume", "didResumeTask", "receivedResponse",
                "receivedData", "collectedMetrics", "didGatherMetrics", "completed", "didCompleteTask", "didFinish",
            ]
        )
    }

    @Test func aSuspendedRequestAsksForItsAdmissionOnce() async throws {
        let configuration = SessionConfiguration {
            $0.resilience.rateLimit = .requests(1, per: .seconds(3_600))
            $0.timeouts.queue = .zero
        }
        let transport = MockTransport { _ in .text("x") }
        let session = Session(configuration: configuration, transport: transport, requestSetup: .eager)
        let request = session.request("https://example.org/a")
        request.suspend()
        async let text = request.string()
        try await eventually { request.isSuspended }
        for _ in 0..<100 { await Task.yield() }
        #expect(await session.resilience.snapshot().counts.admitted == 0)
        request.authenticate(username: "ada", password: "secret")
        request.resume()
        #expect(try await text == "x")
        #expect(await session.resilience.snapshot().counts.admitted == 1)
        #expect(transport.requests.first?.transfer.options.authentication?.username == "ada")
    }

    @Test func cURLDescriptionNeedsNoResume() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") }, requestSetup: .eager)
        let lines = Recorded<String>()
        let request = session.request("https://example.org/b", method: .put)
        request.cURLDescription(on: .global()) { lines.note($0) }
        try await eventually { !lines.all.isEmpty }
        #expect(lines.all.first?.contains("-X PUT ") == true)
        #expect(request.isInitialized)
    }

    @Test func totalTimeoutStartsWhenResultIsAwaited() async throws {
        let transport = MockTransport { _ in .text("x") }
        let configuration = SessionConfiguration { $0.timeouts.total = .milliseconds(200) }
        let session = Session(configuration: configuration, transport: transport, requestSetup: .eager)
        let request = session.request("https://example.org/")
        try await eventually { request.task != nil }
        // Longer than the total timeout, which would have ended the request if it had started.
        try await Task.sleep(for: .milliseconds(300))
        #expect(request.isInitialized && request.error == nil)
        #expect(try await request.string() == "x")
        #expect(transport.requests.first?.transfer.options.timeouts.total.map { $0 > .zero } == true)
    }

    @Test func optionsSetAfterSetupAreUsed() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport, requestSetup: .eager)
        let request = session.request("https://example.org/")
        try await eventually { request.task != nil }
        let monitor = RecordingMonitor()
        request.authenticate(username: "ada", password: "secret").eventMonitor(monitor)
        #expect(try await request.string() == "x")
        #expect(transport.requests.first?.transfer.options.authentication?.username == "ada")
        await monitor.queue.settled()
        #expect(monitor.events.all.contains("didResumeTask"))
    }

    @Test func adaptersRunOnceAndTheirErrorsEndTheRequest() async throws {
        struct Refusal: Error {}
        let adaptations = Recorded<Int>()
        let session = Session(
            transport: MockTransport { _ in .text("x") },
            requestSetup: .eager,
            interceptor: Adapter { _, _ in
                adaptations.note(1)
                throw Refusal()
            }
        )
        let request = session.request("https://example.org/")
        try await eventually { request.isFinished }
        #expect(request.error?.isRequestAdaptationError == true)
        #expect(request.error?.underlyingError is Refusal)
        #expect(adaptations.all.count == 1)
        #expect(await request.serializingData().response.error?.isRequestAdaptationError == true)
    }

    @Test func repeatedSuspensionBeforeStartIsReportedOnce() async throws {
        let monitor = RecordingMonitor()
        let session = Session(
            transport: MockTransport { _ in .text("x") },
            startRequestsImmediately: false,
            requestSetup: .eager,
            eventMonitors: [monitor]
        )
        let request = session.request("https://example.org/")
        for _ in 0..<100 { request.suspend() }
        // The driver tells monitors of the suspension after it has set the task.
        try await eventually { monitor.events.all.contains("didSuspendTask") }
        await monitor.queue.settled()
        #expect(request.isSuspended)
        #expect(monitor.events.all.filter { $0 == "didSuspend" }.count == 1)
        #expect(monitor.events.all.filter { $0 == "didSuspendTask" }.count == 1)
        request.resume()
        #expect(try await request.string() == "x")
    }

    @Test func requestCancelledBeforeStartFinishes() async throws {
        let monitor = RecordingMonitor()
        let transport = MockTransport { _ in .text("x") }
        let session = Session(
            transport: transport,
            startRequestsImmediately: false,
            requestSetup: .eager,
            eventMonitors: [monitor]
        )
        let request = session.request("https://example.org/")
        try await eventually { request.task != nil }
        for _ in 0..<100 { request.cancel() }
        let response = await request.serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        await session.drain()
        await monitor.queue.settled()
        #expect(request.isCancelled)
        #expect(transport.requests.isEmpty)
        let told = [
            "didCancel", "didCancelTask", "collectedMetrics", "didGatherMetrics", "didCompleteTask", "didFinish",
        ]
        for event in told { #expect(monitor.events.all.filter { $0 == event }.count == 1, "\(event)") }
        #expect(!monitor.events.all.contains("didResume"))
        #expect(!monitor.events.all.contains("didResumeTask"))
    }

    @Test func drainingEndsUnstartedRequest() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport, startRequestsImmediately: false, requestSetup: .eager)
        let errors = Recorded<CurlewError?>()
        let request = session.request("https://example.org/")
        request.response(queue: .global()) { errors.note($0.error) }
        try await eventually { request.task != nil }
        await session.drain()
        try await eventually { !errors.all.isEmpty }
        #expect(errors.all.first??.code == .sessionClosed)
        #expect(transport.requests.isEmpty)
    }

    @Test func unstartedRequestRetainsSessionUntilCancelled() async throws {
        let reference: WeakReference<Session>
        let request: DataRequest
        do {
            let session = Session(transport: MockTransport { _ in .text("x") }, requestSetup: .eager)
            reference = WeakReference(session)
            request = session.request("https://example.org/")
            try await eventually { request.task != nil }
        }
        #expect(reference.object != nil)
        request.cancel()
        try await eventually { reference.object == nil }
    }

    /// The run of a stream's reader refuses statuses and ends with the reader, so the eager set-up must not run a
    /// stream.
    @Test func aStreamIsSetUpWhenItStarts() async throws {
        let session = Session(transport: MockTransport { _ in .text("no", status: 404) }, requestSetup: .eager)
        let request = session.streamRequest("https://example.org/")
        let error = await #expect(throws: CurlewError.self) {
            for try await line in request.lines { Issue.record("a line of an error page: \(line)") }
        }
        #expect(error?.code == .unacceptableStatus)
    }

    @Test func requestResumedDuringSetupHasItsOptionsAndTimeout() async throws {
        let (began, gate) = (Gate(), Gate())
        let transport = MockTransport { _ in .text("x") }
        let session = Session(
            configuration: SessionConfiguration { $0.timeouts.total = .seconds(60) },
            transport: transport,
            requestSetup: .eager,
            interceptor: Adapter { request, _ in
                began.open()
                try await gate.wait()
                return request
            }
        )
        let request = session.request("https://example.org/")
        try await began.wait()
        let monitor = RecordingMonitor()
        request.authenticate(username: "ada", password: "secret").eventMonitor(monitor).resume()
        gate.open()
        #expect(try await request.string() == "x")
        let sent = try #require(transport.requests.first?.transfer.options)
        #expect(sent.authentication?.username == "ada")
        #expect(sent.timeouts.total.map { $0 > .zero && $0 <= .seconds(60) } == true)
        await monitor.queue.settled()
        #expect(monitor.events.all.contains("didResumeTask"))
    }

    @Test func totalTimeoutOfSuspendedRequestStartsWhenAwaited() async throws {
        let transport = MockTransport { _ in .text("x") }
        let configuration = SessionConfiguration { $0.timeouts.total = .milliseconds(20) }
        let session = Session(configuration: configuration, transport: transport, requestSetup: .eager)
        let request = session.request("https://example.org/").suspend()
        try await eventually { request.task != nil }
        let error = await #expect(throws: CurlewError.self) { try await request.string() }
        #expect(error?.code == .totalTimedOut)
        #expect(transport.requests.isEmpty)
    }

    @Test func drainingEndsSuspendedUnstartedRequest() async throws {
        let session = Session(transport: MockTransport { _ in .text("x") }, requestSetup: .eager)
        let request = session.request("https://example.org/").suspend()
        try await eventually { request.task != nil }
        await session.drain()
        #expect(request.error?.code == .sessionClosed)
    }
}

private final class WeakReference<Object: AnyObject & Sendable>: Sendable {
    private let reference: Watch

    private struct Watch: Sendable { weak var object: Object? }

    var object: Object? { reference.object }

    init(_ object: Object?) { reference = Watch(object: object) }
}
