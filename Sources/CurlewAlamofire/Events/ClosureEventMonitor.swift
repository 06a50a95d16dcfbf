public import Curlew
public import Dispatch
public import Foundation
public import FoundationNetworking

/// A monitor made of closures, one for each event. Set them before the first request of the session starts.
// SAFETY: the closures are set before an event calls them, as documented, and only read afterwards.
open class ClosureEventMonitor: EventMonitor, @unchecked Sendable {
    /// The queue on which the closures are called.
    public let queue: DispatchQueue

    /// True, because closures may be set after the monitor is added. Override it in a subclass that reads no bodies.
    open var wantsBodies: Bool { true }

    /// Creates a monitor whose closures are called on `queue`.
    public init(queue: DispatchQueue = .main) { self.queue = queue }

    /// Called for `urlSession(_:didBecomeInvalidWithError:)`.
    open var sessionDidBecomeInvalidWithError: (@Sendable (SessionReference, (any Error)?) -> Void)?
    /// Called for `urlSession(_:task:didSendBodyData:totalBytesSent:totalBytesExpectedToSend:)`.
    open var taskDidSendBodyData: (@Sendable (SessionReference, TaskIdentifier, Int64, Int64, Int64) -> Void)?
    /// Called for `urlSession(_:taskNeedsNewBodyStream:)`.
    open var taskNeedNewBodyStream: (@Sendable (SessionReference, TaskIdentifier) -> Void)?
    /// Called for `urlSession(_:task:willPerformHTTPRedirection:newRequest:)`.
    open var taskWillPerformHTTPRedirection:
        (@Sendable (SessionReference, TaskIdentifier, HTTPURLResponse, URLRequest) -> Void)?
    /// Called for `urlSession(_:task:didFinishCollecting:)`.
    open var taskDidFinishCollectingMetrics: (@Sendable (SessionReference, TaskIdentifier, TransferMetrics) -> Void)?
    /// Called for `urlSession(_:task:didCompleteWithError:)`.
    open var taskDidComplete: (@Sendable (SessionReference, TaskIdentifier, (any Error)?) -> Void)?
    /// Called for `urlSession(_:dataTask:didReceive:)`.
    open var dataTaskDidReceiveResponse: (@Sendable (SessionReference, TaskIdentifier, HTTPURLResponse) -> Void)?
    /// Called for `urlSession(_:dataTask:didReceive:)`.
    open var dataTaskDidReceiveData: (@Sendable (SessionReference, TaskIdentifier, Data) -> Void)?
    /// Called for `urlSession(_:dataTask:willCacheResponse:)`.
    open var dataTaskWillCacheResponse: (@Sendable (SessionReference, TaskIdentifier, CachedResponse) -> Void)?
    /// Called for `urlSession(_:downloadTask:didResumeAtOffset:expectedTotalBytes:)`.
    open var downloadTaskDidResumeAtOffset: (@Sendable (SessionReference, TaskIdentifier, Int64, Int64) -> Void)?
    /// Called for `urlSession(_:downloadTask:didWriteData:totalBytesWritten:totalBytesExpectedToWrite:)`.
    open var downloadTaskDidWriteData: (@Sendable (SessionReference, TaskIdentifier, Int64, Int64, Int64) -> Void)?
    /// Called for `urlSession(_:downloadTask:didFinishDownloadingTo:)`.
    open var downloadTaskDidFinishDownloadingToURL: (@Sendable (SessionReference, TaskIdentifier, URL) -> Void)?
    /// Called for `request(_:didCreateInitialURLRequest:)`.
    open var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)?
    /// Called for `request(_:didFailToCreateURLRequestWithError:)`.
    open var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, CurlewError) -> Void)?
    /// Called for `request(_:didAdaptInitialRequest:to:)`.
    open var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)?
    /// Called for `request(_:didFailToAdaptURLRequest:withError:)`.
    open var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, CurlewError) -> Void)?
    /// Called for `request(_:didCreateURLRequest:)`.
    open var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)?
    /// Called for `request(_:didCreateTask:)`.
    open var requestDidCreateTask: (@Sendable (Request, TaskIdentifier) -> Void)?
    /// Called for `request(_:didGatherMetrics:)`.
    open var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)?
    /// Called for `request(_:didFailTask:earlyWithError:)`.
    open var requestDidFailTaskEarlyWithError: (@Sendable (Request, TaskIdentifier, CurlewError) -> Void)?
    /// Called for `request(_:didCompleteTask:with:)`.
    open var requestDidCompleteTaskWithError: (@Sendable (Request, TaskIdentifier, CurlewError?) -> Void)?
    /// Called for `requestIsRetrying(_:)`.
    open var requestIsRetrying: (@Sendable (Request) -> Void)?
    /// Called for `requestDidFinish(_:)`.
    open var requestDidFinish: (@Sendable (Request) -> Void)?
    /// Called for `requestDidResume(_:)`.
    open var requestDidResume: (@Sendable (Request) -> Void)?
    /// Called for `request(_:didResumeTask:)`.
    open var requestDidResumeTask: (@Sendable (Request, TaskIdentifier) -> Void)?
    /// Called for `requestDidSuspend(_:)`.
    open var requestDidSuspend: (@Sendable (Request) -> Void)?
    /// Called for `request(_:didSuspendTask:)`.
    open var requestDidSuspendTask: (@Sendable (Request, TaskIdentifier) -> Void)?
    /// Called for `requestDidCancel(_:)`.
    open var requestDidCancel: (@Sendable (Request) -> Void)?
    /// Called for `request(_:didCancelTask:)`.
    open var requestDidCancelTask: (@Sendable (Request, TaskIdentifier) -> Void)?
    /// Called for `request(_:didValidateRequest:response:data:withResult:)`.
    open var requestDidValidateRequestResponseDataWithResult:
        (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
    /// Called for `request(_:didParseResponse:)`.
    open var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, CurlewError>) -> Void)?
    /// Called for `request(_:didValidateRequest:response:withResult:)`.
    open var requestDidValidateRequestResponseWithResult:
        (@Sendable (DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
    /// Called for `request(_:didCreateUploadable:)`.
    open var requestDidCreateUploadable: (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)?
    /// Called for `request(_:didFailToCreateUploadableWithError:)`.
    open var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, CurlewError) -> Void)?
    /// Called for `request(_:didProvideInputStream:)`.
    open var requestDidProvideInputStream: (@Sendable (UploadRequest, any BodyStream) -> Void)?
    /// Called for `request(_:didFinishDownloadingUsing:with:)`.
    open var requestDidFinishDownloadingUsingTaskWithResult:
        (@Sendable (DownloadRequest, TaskIdentifier, Result<URL, CurlewError>) -> Void)?
    /// Called for `request(_:didCreateDestinationURL:)`.
    open var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)?
    /// Called for `request(_:didValidateRequest:response:fileURL:withResult:)`.
    open var requestDidValidateRequestResponseFileURLWithResult:
        (@Sendable (DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
    /// Called for `request(_:didParseResponse:)`.
    open var requestDidParseDownloadResponse:
        (@Sendable (DownloadRequest, DownloadResponse<URL?, CurlewError>) -> Void)?

    open func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
        sessionDidBecomeInvalidWithError?(session, error)
    }

    open func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) { taskDidSendBodyData?(session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend) }

    open func urlSession(_ session: SessionReference, taskNeedsNewBodyStream task: TaskIdentifier) {
        taskNeedNewBodyStream?(session, task)
    }

    open func urlSession(
        _ session: SessionReference, task: TaskIdentifier, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) { taskWillPerformHTTPRedirection?(session, task, response, request) }

    open func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics
    ) { taskDidFinishCollectingMetrics?(session, task, metrics) }

    open func urlSession(_ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?) {
        taskDidComplete?(session, task, error)
    }

    open func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse) {
        dataTaskDidReceiveResponse?(session, dataTask, response)
    }

    open func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
        dataTaskDidReceiveData?(session, dataTask, data)
    }

    open func urlSession(
        _ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse
    ) { dataTaskWillCacheResponse?(session, dataTask, response) }

    open func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) { downloadTaskDidResumeAtOffset?(session, downloadTask, fileOffset, expectedTotalBytes) }

    open func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) { downloadTaskDidWriteData?(session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite) }

    open func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didFinishDownloadingTo location: URL
    ) { downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location) }

    open func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        requestDidCreateInitialURLRequest?(request, urlRequest)
    }

    open func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) {
        requestDidFailToCreateURLRequestWithError?(request, error)
    }

    open func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) { requestDidAdaptInitialRequestToAdaptedRequest?(request, initialRequest, adaptedRequest) }

    open func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError
    ) { requestDidFailToAdaptURLRequestWithError?(request, initialRequest, error) }

    open func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        requestDidCreateURLRequest?(request, urlRequest)
    }

    open func request(_ request: Request, didCreateTask task: TaskIdentifier) { requestDidCreateTask?(request, task) }

    open func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        requestDidGatherMetrics?(request, metrics)
    }

    open func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError) {
        requestDidFailTaskEarlyWithError?(request, task, error)
    }

    open func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        requestDidCompleteTaskWithError?(request, task, error)
    }

    open func requestIsRetrying(_ request: Request) { requestIsRetrying?(request) }

    open func requestDidFinish(_ request: Request) { requestDidFinish?(request) }

    open func requestDidResume(_ request: Request) { requestDidResume?(request) }

    open func request(_ request: Request, didResumeTask task: TaskIdentifier) { requestDidResumeTask?(request, task) }

    open func requestDidSuspend(_ request: Request) { requestDidSuspend?(request) }

    open func request(_ request: Request, didSuspendTask task: TaskIdentifier) { requestDidSuspendTask?(request, task) }

    open func requestDidCancel(_ request: Request) { requestDidCancel?(request) }

    open func request(_ request: Request, didCancelTask task: TaskIdentifier) { requestDidCancelTask?(request, task) }

    open func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) { requestDidValidateRequestResponseDataWithResult?(request, urlRequest, response, data, result) }

    open func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>) {
        requestDidParseResponse?(request, response)
    }

    open func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) { requestDidValidateRequestResponseWithResult?(request, urlRequest, response, result) }

    open func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        requestDidCreateUploadable?(request, uploadable)
    }

    open func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError) {
        requestDidFailToCreateUploadableWithError?(request, error)
    }

    open func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {
        requestDidProvideInputStream?(request, stream)
    }

    open func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    ) { requestDidFinishDownloadingUsingTaskWithResult?(request, task, result) }

    open func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        requestDidCreateDestinationURL?(request, url)
    }

    open func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) { requestDidValidateRequestResponseFileURLWithResult?(request, urlRequest, response, fileURL, result) }

    open func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>) {
        requestDidParseDownloadResponse?(request, response)
    }
}
