import Curlew
import CurlewAlamofire
import CurlewTesting
import Dispatch
import Foundation
import Testing

@Suite(.timeLimit(.minutes(4)))
struct EventOrderTests {
    @Test func eventsComeInAlamofiresOrder() async throws {
        let monitor = RecordingMonitor()
        let session = Session(transport: MockTransport { _ in .text("[1]") }, eventMonitors: [monitor])
        _ = await session.request("https://example.org/").serializingDecodable([Int].self).response
        await session.drain()
        await monitor.queue.settled()
        #expect(
            monitor.events.all == [
                "didResume", "didCreateInitial", "didCreate", "didCreateTask", "didResumeTask", "receivedResponse",
                "receivedData", "collectedMetrics", "didGatherMetrics", "completed", "didCompleteTask", "didFinish",
                "didParse",
            ]
        )
    }

    @Test func monitorOfRequestReceivesOnlyItsRequestEvents() async throws {
        let monitor = RecordingMonitor()
        let session = Session(transport: MockTransport { _ in .text("[1]") })
        _ = try await session.request("https://example.org/").eventMonitor(monitor).data()
        await monitor.queue.settled()
        #expect(
            monitor.events.all == [
                "didResume", "didCreateInitial", "didCreate", "didCreateTask", "didResumeTask", "didGatherMetrics",
                "didCompleteTask", "didFinish",
            ]
        )
    }

    @Test func cancelledRunningRequestReportsCancellation() async throws {
        let monitor = RecordingMonitor()
        let transport = MockTransport { _ in .hanging }
        let session = Session(transport: transport, eventMonitors: [monitor])
        let request = session.request("https://example.org/")
        let handle = request.serializingData()
        try await transport.waitForRequests(count: 1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { request.cancel() } }
        }
        _ = await handle.response
        await session.drain()
        await monitor.queue.settled()
        #expect(monitor.events.all.filter { $0 == "didCancel" }.count == 1)
        #expect(monitor.events.all.filter { $0 == "didCancelTask" }.count <= 1)
        #expect(monitor.events.all.suffix(2) == ["didFinish", "didParse"])
    }

    @Test func exceededBodyLimitIsReportedAsEarlyFailure() async throws {
        let monitor = RecordingMonitor()
        let session = Session(transport: MockTransport { _ in .text("too long") }, eventMonitors: [monitor])
        let request = session.request("https://example.org/").maximumBodySize(3)
        await #expect(throws: CurlewError.self) { try await request.data() }
        await monitor.queue.settled()
        #expect(
            monitor.events.all == [
                "didResume", "didCreateInitial", "didCreate", "didCreateTask", "didResumeTask", "receivedResponse",
                "failedEarly limitExceeded", "collectedMetrics", "didGatherMetrics", "completed", "didCompleteTask",
                "didFinish",
            ]
        )
    }

    @Test func untrustedServerIsReportedAsEarlyFailure() async throws {
        let monitor = RecordingMonitor()
        let refusal = CurlewError(.certificateUntrusted, phase: .tls)
        let session = Session(transport: MockTransport { _ in .failing(refusal) }, eventMonitors: [monitor])
        await #expect(throws: CurlewError.self) { try await session.request("https://example.org/").data() }
        await monitor.queue.settled()
        #expect(monitor.events.all.contains("failedEarly certificateUntrusted"))
    }

    @Test(arguments: [CurlewError(.receiveFailed, phase: .receive), CurlewError(.connectFailed, phase: .connect)])
    func failureByThePeerIsNoEarlyFailure(_ error: CurlewError) async throws {
        let monitor = RecordingMonitor()
        let session = Session(
            transport: MockTransport { _ in .text("half").failing(with: error) }, eventMonitors: [monitor])
        await #expect(throws: CurlewError.self) { try await session.request("https://example.org/").data() }
        await monitor.queue.settled()
        #expect(!monitor.events.all.contains { $0.hasPrefix("failedEarly") })
    }

    @Test func repeatedResumeIsReportedOnce() async throws {
        let monitor = RecordingMonitor()
        let transport = MockTransport { _ in .text("x") }
        let session = Session(transport: transport, eventMonitors: [monitor])
        let request = session.request("https://example.org/")
        for _ in 0..<100 { request.resume() }
        _ = await request.response()
        await session.drain()
        await monitor.queue.settled()
        #expect(transport.requests.count == 1)
        #expect(monitor.events.all.filter { $0 == "didResume" }.count == 1)
    }

    @Test func compositeMonitorPassesEventsOnInOrder() async throws {
        let first = RecordingMonitor()
        let composite = CompositeEventMonitor(monitors: [first])
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [composite])
        _ = try await session.request("https://example.org/").data()
        await composite.queue.settled()
        await first.queue.settled()
        #expect(first.events.all.first == "didResume")
        #expect(first.events.all.last == "didFinish")
    }

    @Test func recorderInCompositeHasExchangeImmediately() async throws {
        for _ in 0..<100 {
            let recorder = HARRecorder()
            let composite = CompositeEventMonitor(monitors: [CompositeEventMonitor(monitors: [recorder])])
            let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [composite])
            _ = try await session.request("https://example.org/").data()
            #expect(String(decoding: try await recorder.archive(), as: UTF8.self).contains("example.org"))
        }
    }

    @Test func validationComesBeforeTheEndOfTheTask() async throws {
        let (monitor, events) = (ClosureEventMonitor(queue: DispatchQueue(label: "monitor")), Recorded<String>())
        monitor.requestDidValidateRequestResponseDataWithResult = { _, _, _, _, _ in events.note("validated") }
        monitor.requestDidCompleteTaskWithError = { _, _, _ in events.note("completed") }
        let session = Session(transport: MockTransport { _ in .text("x") }, eventMonitors: [monitor])
        _ = try await session.request("https://example.org/").validate(statusCode: 200..<300).data()
        await monitor.queue.settled()
        #expect(events.all == ["validated", "completed"])
    }
}

final class RecordingMonitor: CurlewAlamofire.EventMonitor {
    let queue = DispatchQueue(label: "monitor")
    let events = Recorded<String>()

    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse) {
        events.note("receivedResponse")
    }
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
        events.note("receivedData")
    }
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) {
        events.note("collectedMetrics")
    }
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?) {
        events.note("completed")
    }
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        events.note("didCreateInitial")
    }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { events.note("didCreate") }
    func request(_ request: Request, didCreateTask task: TaskIdentifier) { events.note("didCreateTask") }
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) { events.note("didGatherMetrics") }
    func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError) {
        events.note("failedEarly \(error.code.rawValue)")
    }
    func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        events.note("didCompleteTask")
    }
    func requestIsRetrying(_ request: Request) { events.note("isRetrying") }
    func requestDidFinish(_ request: Request) { events.note("didFinish") }
    func requestDidResume(_ request: Request) { events.note("didResume") }
    func request(_ request: Request, didResumeTask task: TaskIdentifier) { events.note("didResumeTask") }
    func requestDidSuspend(_ request: Request) { events.note("didSuspend") }
    func request(_ request: Request, didSuspendTask task: TaskIdentifier) { events.note("didSuspendTask") }
    func requestDidCancel(_ request: Request) { events.note("didCancel") }
    func request(_ request: Request, didCancelTask task: TaskIdentifier) { events.note("didCancelTask") }
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>) {
        events.note("didParse")
    }
}
