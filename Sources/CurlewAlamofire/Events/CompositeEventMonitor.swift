public import Curlew
public import Dispatch
public import Foundation
public import FoundationNetworking

/// Combines several monitors: each receives the events in order on its own queue.
///
/// A session or request adds the members instead of the composite. A monitor that wraps the composite may call its
/// methods, by Curlew's names or by Alamofire's. Calls of methods that only Alamofire has reach only the members that
/// have these methods too.
public final class CompositeEventMonitor: EventMonitor, MonitorGroup {
    /// A queue for a monitor that wraps the composite. The members use their own queues.
    public let queue: DispatchQueue
    /// The monitors that receive the events, in this order.
    public let monitors: [any Curlew.EventMonitor]
    /// Whether one of the monitors wants bodies.
    public let wantsBodies: Bool
    private let queues: [MonitorQueue]

    /// Creates a monitor that passes events on to `monitors`, in this order.
    public init(
        queue: DispatchQueue = DispatchQueue(label: "curlew.monitors"),
        monitors: [any Curlew.EventMonitor]
    ) {
        self.queue = queue
        self.monitors = monitors
        queues = monitors.reduce(into: []) { $0.add($1) }
        wantsBodies = queues.contains(where: \.wantsBodies)
    }

    func emit(_ event: @escaping MonitorQueue.Event) { for queue in queues { queue.emit(event) } }

    func emitPiece(_ event: @escaping MonitorQueue.Event) { for queue in queues { queue.emitPiece(event) } }

    func emitBody(_ data: Data, _ event: @escaping MonitorQueue.Event) {
        for queue in queues { queue.emitBody(data, event) }
    }

    // MARK: The request begins

    public func requestDidResume(_ request: Request) { emit { $0.requestDidResume(request) } }

    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        emit { $0.request(request, didCreateInitialURLRequest: urlRequest) }
    }

    public func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) {
        emit { $0.request(request, didFailToCreateURLRequestWithError: error) }
    }

    // MARK: An attempt begins

    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) { emit { $0.request(request, didAdaptInitialRequest: initialRequest, to: adaptedRequest) } }

    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError
    ) { emit { $0.request(request, didFailToAdaptURLRequest: initialRequest, withError: error) } }

    public func request(
        _ request: UploadRequest, didCreateBody result: Result<UploadRequest.Uploadable, CurlewError>
    ) { emit { $0.request(request, didCreateBody: result) } }

    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        emit { $0.request(request, didCreateURLRequest: urlRequest) }
    }

    // MARK: An exchange is sent

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        emit { $0.request(request, didCreateTask: task) }
    }

    public func request(_ request: Request, didChangeTask task: TaskIdentifier, to change: TaskChange) {
        emit { $0.request(request, didChangeTask: task, to: change) }
    }

    public func request(_ request: Request, taskNeedsNewBodyStream task: TaskIdentifier) {
        emit { $0.request(request, taskNeedsNewBodyStream: task) }
    }

    public func request(
        _ request: Request, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        emitPiece {
            $0.request(
                request, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend)
        }
    }

    // MARK: The response arrives

    public func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {
        emit { $0.request(request, task: task, didReceive: head, from: url) }
    }

    public func request(
        _ request: Request, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        emit {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, data: data, fileURL: fileURL,
                withResult: result)
        }
    }

    public func request(
        _ request: DownloadRequest, task: TaskIdentifier, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        emit {
            $0.request(
                request, task: task, didResumeAtOffset: fileOffset, expectedTotalBytes: expectedTotalBytes)
        }
    }

    public func request(_ request: Request, task: TaskIdentifier, didReceive data: Data) {
        emitBody(data) { $0.request(request, task: task, didReceive: data) }
    }

    public func request(
        _ request: DownloadRequest, task: TaskIdentifier, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        emitPiece {
            $0.request(
                request, task: task, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite)
        }
    }

    public func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse) {
        emitBody(response.data) { $0.request(request, task: task, willCacheResponse: response) }
    }

    public func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) {
        emit { $0.request(request, task: task, didFinishCollecting: metrics) }
    }

    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        emit { $0.request(request, didGatherMetrics: metrics) }
    }

    public func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?) {
        emit { $0.request(request, task: task, didCompleteWithError: error) }
    }

    public func request(
        _ request: Request, task: TaskIdentifier, willFollowRedirect head: ResponseHead, from url: URL,
        to newRequest: URLRequest
    ) { emit { $0.request(request, task: task, willFollowRedirect: head, from: url, to: newRequest) } }

    // MARK: The attempt ends

    public func request(
        _ request: DownloadRequest, didFinishDownloading result: Result<URL, CurlewError>, of task: TaskIdentifier
    ) { emit { $0.request(request, didFinishDownloading: result, of: task) } }

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        emit { $0.request(request, didCompleteTask: task, with: error) }
    }

    public func requestIsRetrying(_ request: Request) { emit { $0.requestIsRetrying(request) } }

    public func request(_ request: Request, didDecide decision: ResilienceDecision) {
        emit { $0.request(request, didDecide: decision) }
    }

    // MARK: The request ends

    public func requestDidFinish(_ request: Request) { emit { $0.requestDidFinish(request) } }

    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>
    ) { self.request(request, didParseResponse: response, using: nil) }

    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) { emit { $0.request(request, didParseResponse: response, using: serializer) } }

    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>
    ) { self.request(request, didParseResponse: response, using: nil) }

    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) { emit { $0.request(request, didParseResponse: response, using: serializer) } }

    // MARK: At any time

    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>
    ) { emitPiece { $0.request(request, didParseStream: result) } }

    public func requestDidSuspend(_ request: Request) { emit { $0.requestDidSuspend(request) } }

    public func requestDidCancel(_ request: Request) { emit { $0.requestDidCancel(request) } }

    public func session(_ session: SessionReference, didDecide decision: SessionDecision) {
        emit { $0.session(session, didDecide: decision) }
    }

    public func session(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
        emit { $0.session(session, didBecomeInvalidWithError: error) }
    }
}
