import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

/// `request.task` has the properties that code reads of a `URLSessionTask`.
@Suite(.timeLimit(.minutes(4)))
struct RequestTaskTests {
    @Test func taskReportsItsStateAndRequests() async throws {
        let server = try TestServer()
        let request = Session().upload(Data(count: 1000), to: server.url("/redirect-to?url=/anything&status_code=307"))
        #expect(request.task == nil)
        #expect(await request.serializingData().response.error == nil)
        #expect(request.task?.state == .completed)
        #expect(request.task?.originalRequest?.url?.path == "/redirect-to")
        #expect(request.task?.currentRequest?.url?.path == "/anything")
        #expect((request.task?.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(request.task?.countOfBytesSent == 1000)
        #expect(request.task?.countOfBytesExpectedToSend == 1000)
        #expect((request.task?.countOfBytesReceived ?? 0) > 0)
        #expect(request.task?.countOfBytesReceived == request.task?.countOfBytesExpectedToReceive)
        #expect(request.task?.error == nil)
        #expect(request.task?.identifier == request.lastTask)
    }

    @Test func taskDescriptionIsThatOfItsRequest() async throws {
        let request = Session(transport: MockTransport { _ in .text("x") }).request("https://example.org/")
        _ = try await request.serializingData().value
        request.task?.taskDescription = "mine"
        #expect(request.task?.taskDescription == "mine" && request.taskDescription == "mine")
    }

    @Test func metricsHaveTheIntervalOfTheTask() {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        let metrics = TransferMetrics(queued: now, ended: now + 2)
        #expect(metrics.taskInterval == DateInterval(start: now, duration: 2))
        // The clock was set back.
        #expect(TransferMetrics(queued: now, ended: now - 2).taskInterval.duration == 0)
    }

    /// Reads the task as retriers written for Alamofire do.
    @Test func aRetrierSeesTheTaskThatHasEnded() async throws {
        let server = try TestServer()
        server.script("/flaky", .status(503), .text("well"))
        let retrier = Retrier { request, _, _, completion in
            let response = request.task?.response as? HTTPURLResponse
            completion(response?.statusCode == 503 ? .retry : .doNotRetry)
        }
        let request = Session(interceptor: retrier).request(server.url("/flaky")).validate()
        #expect(await request.serializingString().response.value == "well")
        #expect(request.retryCount == 1)
    }

    @Test func taskCanBeSuspendedAndCancelled() async throws {
        let server = try TestServer()
        let request = Session().request(server.url("/hang"))
        let handle = request.serializingData()
        try await server.waitForRequests(count: 1)
        #expect(request.task?.state == .running)
        request.task?.suspend()
        #expect(request.task?.state == .suspended)
        request.task?.resume()
        request.task?.cancel()
        #expect(await handle.response.error?.isExplicitlyCancelledError == true)
        #expect(request.task?.state == .completed)
        #expect(request.task?.error?.asAFError?.isExplicitlyCancelledError == true)
    }

    @Test func shouldAutomaticallyResumeIsReadBack() {
        let session = Session()
        #expect(session.request("https://example.org").shouldAutomaticallyResume == nil)
        #expect(
            session.request("https://example.org", shouldAutomaticallyResume: false).shouldAutomaticallyResume == false)
        #expect(
            session.upload(Data(), to: "https://example.org", shouldAutomaticallyResume: true).shouldAutomaticallyResume
                == true)
    }

    @Test func compositeMonitorListsItsMonitors() {
        let parts = [ClosureEventMonitor(), ClosureEventMonitor()]
        #expect(CompositeEventMonitor(monitors: parts).monitors.count == 2)
    }

    @Test func cancelledTasksThatWereNeverStartedAreCompleted() async throws {
        let session = Session(startRequestsImmediately: false, requestSetup: .eager)
        let ended = Lock(0)
        let requests = (0..<100).map { _ in
            session.request("https://example.org/").response(queue: .global()) { _ in ended.withLock { $0 += 1 } }
        }
        try await eventually { requests.allSatisfy { $0.task?.state == .suspended } }
        await session.cancelAllRequests()
        try await eventually { ended.withLock { $0 } == 100 }
        #expect(requests.allSatisfy { $0.task?.state == .completed && $0.error?.isExplicitlyCancelledError == true })
    }
}
