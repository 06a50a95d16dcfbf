public import Curlew
public import Dispatch
public import Foundation
public import FoundationNetworking

/// Several monitors as one: each gets the events in order on its own queue.
public final class CompositeEventMonitor: EventMonitor {
    /// Where events are taken in.
    public let queue: DispatchQueue
    /// What the events are passed on to, in this order.
    public let monitors: [any EventMonitor]
    private let hub: MonitorHub?

    /// Passes events on to `monitors`, in this order.
    public init(
        queue: DispatchQueue = DispatchQueue(label: "curlew.monitors"),
        monitors: [any EventMonitor]
    ) {
        self.queue = queue
        self.monitors = monitors
        hub = MonitorHub(monitors)
    }

    public func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
        hub?.emit { $0.urlSession(session, didBecomeInvalidWithError: error) }
    }

    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        hub?.emit {
            $0.urlSession(
                session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend)
        }
    }

    public func urlSession(_ session: SessionReference, taskNeedsNewBodyStream task: TaskIdentifier) {
        hub?.emit { $0.urlSession(session, taskNeedsNewBodyStream: task) }
    }

    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {
        hub?.emit { $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) }
    }

    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics
    ) {
        hub?.emit { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
    }

    public func urlSession(_ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?)
    {
        hub?.emit { $0.urlSession(session, task: task, didCompleteWithError: error) }
    }

    public func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse)
    {
        guard let hub, hub.wants(.head) else {
            EventTrial.pass(Self.self, .heads)
            return
        }
        hub.emitHead { $0.urlSession(session, dataTask: dataTask, didReceive: response) }
    }

    public func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
        guard let hub, hub.wants(.body) else {
            EventTrial.pass(Self.self, .bodies)
            return
        }
        hub.emitBody(data) { $0.urlSession(session, dataTask: dataTask, didReceive: data) }
    }

    public func urlSession(
        _ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse
    ) {
        hub?.emit { $0.urlSession(session, dataTask: dataTask, willCacheResponse: response) }
    }

    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        hub?.emit {
            $0.urlSession(
                session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
                expectedTotalBytes: expectedTotalBytes)
        }
    }

    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        hub?.emit {
            $0.urlSession(
                session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite)
        }
    }

    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didFinishDownloadingTo location: URL
    ) {
        hub?.emit { $0.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location) }
    }

    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        hub?.emit { $0.request(request, didCreateInitialURLRequest: urlRequest) }
    }

    public func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) {
        hub?.emit { $0.request(request, didFailToCreateURLRequestWithError: error) }
    }

    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) {
        hub?.emit { $0.request(request, didAdaptInitialRequest: initialRequest, to: adaptedRequest) }
    }

    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError
    ) {
        hub?.emit { $0.request(request, didFailToAdaptURLRequest: initialRequest, withError: error) }
    }

    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        hub?.emit { $0.request(request, didCreateURLRequest: urlRequest) }
    }

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        hub?.emit { $0.request(request, didCreateTask: task) }
    }

    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        hub?.emit { $0.request(request, didGatherMetrics: metrics) }
    }

    public func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError) {
        hub?.emit { $0.request(request, didFailTask: task, earlyWithError: error) }
    }

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        hub?.emit { $0.request(request, didCompleteTask: task, with: error) }
    }

    public func requestIsRetrying(_ request: Request) {
        hub?.emit { $0.requestIsRetrying(request) }
    }

    public func requestDidFinish(_ request: Request) {
        hub?.emit { $0.requestDidFinish(request) }
    }

    public func requestDidResume(_ request: Request) {
        hub?.emit { $0.requestDidResume(request) }
    }

    public func request(_ request: Request, didResumeTask task: TaskIdentifier) {
        hub?.emit { $0.request(request, didResumeTask: task) }
    }

    public func requestDidSuspend(_ request: Request) {
        hub?.emit { $0.requestDidSuspend(request) }
    }

    public func request(_ request: Request, didSuspendTask task: TaskIdentifier) {
        hub?.emit { $0.request(request, didSuspendTask: task) }
    }

    public func requestDidCancel(_ request: Request) {
        hub?.emit { $0.requestDidCancel(request) }
    }

    public func request(_ request: Request, didCancelTask task: TaskIdentifier) {
        hub?.emit { $0.request(request, didCancelTask: task) }
    }

    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {
        hub?.emit {
            $0.request(request, didValidateRequest: urlRequest, response: response, data: data, withResult: result)
        }
    }

    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>) {
        hub?.emit { $0.request(request, didParseResponse: response) }
    }

    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>
    ) {
        hub?.emit { $0.request(request, didParseResponse: response) }
    }

    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {
        hub?.emit { $0.request(request, didValidateRequest: urlRequest, response: response, withResult: result) }
    }

    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>
    ) {
        hub?.emit { $0.request(request, didParseStream: result) }
    }

    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        hub?.emit { $0.request(request, didCreateUploadable: uploadable) }
    }

    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError) {
        hub?.emit { $0.request(request, didFailToCreateUploadableWithError: error) }
    }

    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {
        hub?.emit { $0.request(request, didProvideInputStream: stream) }
    }

    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    ) {
        hub?.emit { $0.request(request, didFinishDownloadingUsing: task, with: result) }
    }

    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        hub?.emit { $0.request(request, didCreateDestinationURL: url) }
    }

    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        hub?.emit {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, fileURL: fileURL, withResult: result)
        }
    }

    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>) {
        hub?.emit { $0.request(request, didParseResponse: response) }
    }

    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>
    ) {
        hub?.emit { $0.request(request, didParseResponse: response) }
    }

    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: any Sendable
    ) {
        hub?.emit { $0.request(request, didParseResponse: response, using: serializer) }
    }

    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: any Sendable
    ) {
        hub?.emit { $0.request(request, didParseResponse: response, using: serializer) }
    }
}
