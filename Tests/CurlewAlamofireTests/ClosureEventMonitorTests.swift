import CurlewAlamofire
import CurlewCore
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

/// Each event of a monitor calls its own closure and no other, under Alamofire's names and under the core's. A
/// composite forwards every event.
@Suite(.timeLimit(.minutes(4)))
struct ClosureEventMonitorTests {
    @Test func eachEventCallsItsClosure() async throws {
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "closures"))
        let heard = Recorded<String>()
        Self.listen(to: monitor, heard)
        try Self.emitEverything(to: monitor)
        #expect(heard.all == Self.names)
    }

    @Test func coreEventsCallClosuresWithAlamofiresNames() throws {
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "closures"))
        let heard = Recorded<String>()
        Self.listen(to: monitor, heard)
        try Self.emitEventsOfTheCore(to: monitor)
        #expect(heard.all == Self.namesOfTheCoresEvents)
    }

    @Test func compositeMonitorPassesOnEveryEvent() throws {
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "closures"))
        let heard = Recorded<String>()
        Self.listen(to: monitor, heard)
        let composite = CompositeEventMonitor(queue: DispatchQueue(label: "composite"), monitors: [monitor])
        try Self.emitEverything(to: composite)
        try Self.emitEventsOfTheCore(to: composite)
        monitor.queue.sync {}
        #expect(heard.all == Self.names + Self.namesOfTheCoresEvents)
    }

    @Test(arguments: [false, true])
    func closureSetAfterSessionReceivesBodies(isInComposite: Bool) async throws {
        let (monitor, heard) = (ClosureEventMonitor(queue: DispatchQueue(label: "closures")), Recorded<String>())
        let added: any Curlew.EventMonitor = isInComposite ? CompositeEventMonitor(monitors: [monitor]) : monitor
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: [added])
        monitor.dataTaskDidReceiveData = { heard.note("data \($2.count)") }
        _ = try await session.request("https://example.org/").data()
        monitor.queue.sync {}
        #expect(heard.all == ["data 5"])
    }

    @Test func monitorsDoNotShareTheirClosures() async throws {
        let heard = Recorded<String>()
        let monitors = ["first", "second"].map { ClosureEventMonitor(queue: DispatchQueue(label: $0)) }
        monitors[0].dataTaskDidReceiveData = { heard.note("data \($2.count)") }
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: monitors)
        _ = try await session.request("https://example.org/").data()
        for monitor in monitors { monitor.queue.sync {} }
        #expect(heard.all == ["data 5"])
    }

    @Test func aSubclassReceivesTheEventsWhoseMethodsItOverrides() async throws {
        let monitor = OverridingMonitor(queue: DispatchQueue(label: "subclass"))
        let session = Session(transport: MockTransport { _ in .text("hello") }, eventMonitors: [monitor])
        _ = try await session.request("https://example.org/").data()
        monitor.queue.sync {}
        #expect(monitor.heard.all == ["data 5", "finish"])
    }

    // SAFETY: its only property is constant and Sendable.
    private final class OverridingMonitor: ClosureEventMonitor, @unchecked Sendable {
        let heard = Recorded<String>()

        override func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
            heard.note("data \(data.count)")
        }
        override func requestDidFinish(_ request: Request) { heard.note("finish") }
    }

    @Test func eventsWithoutClosuresAreIgnored() throws {
        try Self.emitEverything(to: ClosureEventMonitor(queue: DispatchQueue(label: "closures")))
    }

    static let names = [
        "invalid", "sent 1 2 3", "newStream", "redirection 302", "collected", "taskComplete", "response 302",
        "data 4", "willCache 4", "resumed 5 6", "wrote 7 8 9", "downloaded /file", "initial", "failedToCreate",
        "adapted PUT",
        "failedToAdapt", "created", "task 10", "metrics", "early 10", "complete 10", "retrying", "finish", "resume",
        "resumeTask 10", "suspend", "suspendTask 10", "cancel", "cancelTask 10", "validatedData 4", "parsedData",
        "validatedStream", "uploadable", "noUploadable", "inputStream", "downloadFinished /file",
        "destination /file", "validatedFile /file", "parsedDownload",
    ]

    static let namesOfTheCoresEvents = [
        "resume", "initial", "failedToCreate", "adapted PUT", "failedToAdapt", "uploadable", "inputStream",
        "noUploadable", "created", "task 10", "resumeTask 10", "suspendTask 10", "cancelTask 10", "early 10",
        "newStream", "sent 1 2 3", "response 302", "validatedData 4", "validatedFile /file", "validatedStream",
        "resumed 5 6", "data 4", "wrote 7 8 9", "willCache 4", "collected", "metrics", "taskComplete",
        "redirection 302",
        "downloadFinished /file", "downloaded /file", "destination /file", "downloadFinished ?", "complete 10",
        "retrying", "finish", "parsedData", "parsedDownload", "suspend", "cancel", "invalid",
    ]

    private static func listen(to monitor: ClosureEventMonitor, _ heard: Recorded<String>) {
        monitor.sessionDidBecomeInvalidWithError = { _, error in heard.note(error == nil ? "?" : "invalid") }
        monitor.taskDidSendBodyData = { heard.note("sent \($2) \($3) \($4)") }
        monitor.taskNeedNewBodyStream = { _, _ in heard.note("newStream") }
        monitor.taskWillPerformHTTPRedirection = {
            heard.note("redirection \($2.statusCode)\($3.httpMethod == "PUT" ? "" : "?")")
        }
        monitor.taskDidFinishCollectingMetrics = { _, _, _ in heard.note("collected") }
        monitor.taskDidComplete = { _, _, error in heard.note(error == nil ? "taskComplete" : "?") }
        monitor.dataTaskDidReceiveResponse = { heard.note("response \($2.statusCode)") }
        monitor.dataTaskDidReceiveData = { heard.note("data \($2.count)") }
        monitor.dataTaskWillCacheResponse = { heard.note("willCache \($2.data.count)") }
        monitor.downloadTaskDidResumeAtOffset = { heard.note("resumed \($2) \($3)") }
        monitor.downloadTaskDidWriteData = { heard.note("wrote \($2) \($3) \($4)") }
        monitor.downloadTaskDidFinishDownloadingToURL = { heard.note("downloaded \($2.path)") }
        monitor.requestDidCreateInitialURLRequest = { _, _ in heard.note("initial") }
        monitor.requestDidFailToCreateURLRequestWithError = { _, _ in heard.note("failedToCreate") }
        monitor.requestDidAdaptInitialRequestToAdaptedRequest = { heard.note("adapted \($2.httpMethod ?? "?")") }
        monitor.requestDidFailToAdaptURLRequestWithError = { _, _, _ in heard.note("failedToAdapt") }
        monitor.requestDidCreateURLRequest = { _, _ in heard.note("created") }
        monitor.requestDidCreateTask = { heard.note("task \($1.rawValue)") }
        monitor.requestDidGatherMetrics = { _, _ in heard.note("metrics") }
        monitor.requestDidFailTaskEarlyWithError = {
            heard.note("early \($1.rawValue)\($2.code == .cancelled ? "" : "?")")
        }
        monitor.requestDidCompleteTaskWithError = { heard.note("complete \($1.rawValue)\($2 == nil ? "" : "?")") }
        monitor.requestIsRetrying = { _ in heard.note("retrying") }
        monitor.requestDidFinish = { _ in heard.note("finish") }
        monitor.requestDidResume = { _ in heard.note("resume") }
        monitor.requestDidResumeTask = { heard.note("resumeTask \($1.rawValue)") }
        monitor.requestDidSuspend = { _ in heard.note("suspend") }
        monitor.requestDidSuspendTask = { heard.note("suspendTask \($1.rawValue)") }
        monitor.requestDidCancel = { _ in heard.note("cancel") }
        monitor.requestDidCancelTask = { heard.note("cancelTask \($1.rawValue)") }
        monitor.requestDidValidateRequestResponseDataWithResult = { _, _, _, data, _ in
            heard.note("validatedData \(data?.count ?? 0)")
        }
        monitor.requestDidParseResponse = { _, _ in heard.note("parsedData") }
        monitor.requestDidValidateRequestResponseWithResult = { _, _, _, _ in heard.note("validatedStream") }
        monitor.requestDidCreateUploadable = { _, _ in heard.note("uploadable") }
        monitor.requestDidFailToCreateUploadableWithError = { _, _ in heard.note("noUploadable") }
        monitor.requestDidProvideInputStream = { _, _ in heard.note("inputStream") }
        monitor.requestDidFinishDownloadingUsingTaskWithResult = { _, _, result in
            heard.note("downloadFinished \((try? result.get())?.path ?? "?")")
        }
        monitor.requestDidCreateDestinationURL = { heard.note("destination \($1.path)") }
        monitor.requestDidValidateRequestResponseFileURLWithResult = { _, _, _, file, _ in
            heard.note("validatedFile \(file?.path ?? "?")")
        }
        monitor.requestDidParseDownloadResponse = { _, _ in heard.note("parsedDownload") }
    }

    /// Calls the monitor's method for each name, in the order of the names.
    private static func emitEverything(to monitor: any CurlewAlamofire.EventMonitor) throws {
        let url = try #require(URL(string: "https://example.org/"))
        let file = URL(filePath: "/file")
        let plain = URLRequest(url: url)
        var other = plain
        other.httpMethod = "PUT"
        let found = try #require(HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil))
        let bytes = Data(count: 4)
        let error = CurlewError(.cancelled, phase: .receive)
        let metrics = TransferMetrics(queued: .distantPast, ended: .distantPast)
        let task = TaskIdentifier(rawValue: 10)
        let reference = SessionReference(identifier: nil, session: nil)
        // None of these requests is ever resumed.
        let session = Session(transport: MockTransport { _ in .text("") }, startRequestsImmediately: false)
        let data = session.request(url)
        let stream = session.streamRequest(url)
        let upload = session.upload(bytes, to: url)
        let download = session.download(url)

        monitor.urlSession(reference, didBecomeInvalidWithError: error)
        monitor.urlSession(reference, task: task, didSendBodyData: 1, totalBytesSent: 2, totalBytesExpectedToSend: 3)
        monitor.urlSession(reference, taskNeedsNewBodyStream: task)
        monitor.urlSession(reference, task: task, willPerformHTTPRedirection: found, newRequest: other)
        monitor.urlSession(reference, task: task, didFinishCollecting: metrics)
        monitor.urlSession(reference, task: task, didCompleteWithError: nil)
        monitor.urlSession(reference, dataTask: task, didReceive: found)
        monitor.urlSession(reference, dataTask: task, didReceive: bytes)
        monitor.urlSession(
            reference, dataTask: task, willCacheResponse: CachedResponse(response: found, data: bytes))
        monitor.urlSession(reference, downloadTask: task, didResumeAtOffset: 5, expectedTotalBytes: 6)
        monitor.urlSession(
            reference, downloadTask: task, didWriteData: 7, totalBytesWritten: 8, totalBytesExpectedToWrite: 9)
        monitor.urlSession(reference, downloadTask: task, didFinishDownloadingTo: file)

        monitor.request(data, didCreateInitialURLRequest: plain)
        monitor.request(data, didFailToCreateURLRequestWithError: error)
        monitor.request(data, didAdaptInitialRequest: plain, to: other)
        monitor.request(data, didFailToAdaptURLRequest: plain, withError: error)
        monitor.request(data, didCreateURLRequest: plain)
        monitor.request(data, didCreateTask: task)
        monitor.request(data, didGatherMetrics: metrics)
        monitor.request(data, didFailTask: task, earlyWithError: error)
        monitor.request(data, didCompleteTask: task, with: nil)
        monitor.requestIsRetrying(data)
        monitor.requestDidFinish(data)
        monitor.requestDidResume(data)
        monitor.request(data, didResumeTask: task)
        monitor.requestDidSuspend(data)
        monitor.request(data, didSuspendTask: task)
        monitor.requestDidCancel(data)
        monitor.request(data, didCancelTask: task)

        monitor.request(
            data, didValidateRequest: plain, response: found, data: bytes, withResult: .success(()))
        monitor.request(
            data,
            didParseResponse: DataResponse<Data?, CurlewError>(
                request: nil, response: nil, data: nil, metrics: nil, serializationDuration: 0, result: .success(nil)))
        monitor.request(stream, didValidateRequest: plain, response: found, withResult: .success(()))
        monitor.request(upload, didCreateUploadable: .data(bytes))
        monitor.request(upload, didFailToCreateUploadableWithError: error)
        monitor.request(upload, didProvideInputStream: EmptyBody())
        monitor.request(download, didFinishDownloadingUsing: task, with: .success(file))
        monitor.request(download, didCreateDestinationURL: file)
        monitor.request(
            download, didValidateRequest: plain, response: found, fileURL: file, withResult: .success(()))
        monitor.request(
            download,
            didParseResponse: DownloadResponse<URL?, CurlewError>(
                request: nil, response: nil, fileURL: nil, resumeData: nil, metrics: nil, serializationDuration: 0,
                result: .success(nil)))
    }

    /// Calls every method of the core's protocol, in the order of their declarations.
    private static func emitEventsOfTheCore(to monitor: any Curlew.EventMonitor) throws {
        let url = try #require(URL(string: "https://example.org/"))
        let file = URL(filePath: "/file")
        let plain = URLRequest(url: url)
        var other = plain
        other.httpMethod = "PUT"
        let head = ResponseHead(status: 302, headers: [:])
        let found = try #require(HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil))
        let bytes = Data(count: 4)
        let error = CurlewError(.cancelled, phase: .receive)
        let metrics = TransferMetrics(queued: .distantPast, ended: .distantPast)
        let task = TaskIdentifier(rawValue: 10)
        let session = Session(transport: MockTransport { _ in .text("") }, startRequestsImmediately: false)
        let data = session.request(url)
        let stream = session.streamRequest(url)
        let upload = session.upload(bytes, to: url)
        let download = session.download(url)

        monitor.requestDidResume(data)
        monitor.request(data, didCreateInitialURLRequest: plain)
        monitor.request(data, didFailToCreateURLRequestWithError: error)
        monitor.request(data, didAdaptInitialRequest: plain, to: other)
        monitor.request(data, didFailToAdaptURLRequest: plain, withError: error)
        monitor.request(upload, didCreateBody: .success(.stream(EmptyBody(), length: nil)))
        monitor.request(upload, didCreateBody: .failure(error))
        monitor.request(data, didCreateURLRequest: plain)
        monitor.request(data, didCreateTask: task)
        for change in [TaskChange.resumed, .suspended, .cancelled, .failed(error)] {
            monitor.request(data, didChangeTask: task, to: change)
        }
        monitor.request(data, taskNeedsNewBodyStream: task)
        monitor.request(
            data, task: task, didSendBodyData: 1, totalBytesSent: 2, totalBytesExpectedToSend: 3)
        monitor.request(data, task: task, didReceive: head, from: url)
        for (request, data, file) in [(data as Request, bytes, nil), (download, nil, file), (stream, nil, nil)] {
            monitor.request(
                request, didValidateRequest: plain, response: found, data: data, fileURL: file,
                withResult: .success(()))
        }
        monitor.request(download, task: task, didResumeAtOffset: 5, expectedTotalBytes: 6)
        monitor.request(data, task: task, didReceive: bytes)
        monitor.request(download, task: task, didWriteData: 7, totalBytesWritten: 8, totalBytesExpectedToWrite: 9)
        monitor.request(
            data, task: task, willCacheResponse: CachedResponse(response: found, data: bytes))
        monitor.request(data, task: task, didFinishCollecting: metrics)
        monitor.request(data, didGatherMetrics: metrics)
        monitor.request(data, task: task, didCompleteWithError: nil)
        monitor.request(data, task: task, willFollowRedirect: head, from: url, to: other)
        monitor.request(download, didFinishDownloading: .success(file), of: task)
        monitor.request(download, didFinishDownloading: .failure(error), of: task)
        monitor.request(data, didCompleteTask: task, with: nil)
        monitor.requestIsRetrying(data)
        monitor.requestDidFinish(data)
        monitor.request(
            data,
            didParseResponse: DataResponse<Data?, CurlewError>(
                request: nil, response: nil, data: nil, metrics: nil, serializationDuration: 0, result: .success(nil)),
            using: nil)
        monitor.request(
            download,
            didParseResponse: DownloadResponse<URL?, CurlewError>(
                request: nil, response: nil, fileURL: nil, resumeData: nil, metrics: nil, serializationDuration: 0,
                result: .success(nil)),
            using: nil)
        monitor.requestDidSuspend(data)
        monitor.requestDidCancel(data)
        monitor.session(SessionReference(identifier: nil, session: nil), didBecomeInvalidWithError: error)
    }

    private final class EmptyBody: BodyStream {
        let isReplayable = true

        func open(waker: any BodyWaker) {}
        func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .end }
        func rewind() -> Bool { true }
        func close() {}
    }
}
