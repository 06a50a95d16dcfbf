public import CurlewCore
public import Dispatch
public import Foundation
public import FoundationNetworking

// Every event is optional.
extension EventMonitor {
    public var queue: DispatchQueue { .main }

    // MARK: Exchanges

    public func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {}
    public func urlSession(
        _ session: SessionReference,
        task: TaskIdentifier,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}
    public func urlSession(_ session: SessionReference, taskNeedsNewBodyStream task: TaskIdentifier) {}
    public func urlSession(
        _ session: SessionReference,
        task: TaskIdentifier,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {}
    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics
    ) { EventTrial.pass(Self.self, .collectedMetrics) }
    public func urlSession(_ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?)
    { EventTrial.pass(Self.self, .endedExchange) }
    public func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse)
    {
        EventTrial.pass(Self.self, .heads)
    }
    public func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {
        EventTrial.pass(Self.self, .bodies)
    }
    public func urlSession(
        _ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse
    ) {
        EventTrial.pass(Self.self, .storedResponses)
    }
    public func urlSession(
        _ session: SessionReference,
        downloadTask: TaskIdentifier,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {}
    public func urlSession(
        _ session: SessionReference,
        downloadTask: TaskIdentifier,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {}
    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didFinishDownloadingTo location: URL
    ) {}

    // MARK: Requests

    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        EventTrial.pass(Self.self, .madeInitialRequest)
    }
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) {}
    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) { EventTrial.pass(Self.self, .adaptedRequest) }
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError
    ) {}
    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        EventTrial.pass(Self.self, .madeRequest)
    }
    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {
        EventTrial.pass(Self.self, .madeTask)
    }
    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        EventTrial.pass(Self.self, .gatheredMetrics)
    }
    public func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError) {}
    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        EventTrial.pass(Self.self, .completedTask)
    }
    public func requestIsRetrying(_ request: Request) {}
    public func requestDidFinish(_ request: Request) { EventTrial.pass(Self.self, .finished) }
    public func requestDidResume(_ request: Request) { EventTrial.pass(Self.self, .resumed) }
    public func request(_ request: Request, didResumeTask task: TaskIdentifier) {
        EventTrial.pass(Self.self, .resumedTask)
    }
    public func requestDidSuspend(_ request: Request) {}
    public func request(_ request: Request, didSuspendTask task: TaskIdentifier) {}
    public func requestDidCancel(_ request: Request) {}
    public func request(_ request: Request, didCancelTask task: TaskIdentifier) {}

    // MARK: Data

    public func request(
        _ request: DataRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        data: Data?,
        withResult result: Request.ValidationResult
    ) {}
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>) {}
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>
    ) {}

    // MARK: Streams

    public func request(
        _ request: DataStreamRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {}
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>
    ) {}

    // MARK: Uploads

    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {}
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError) {}
    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {}

    // MARK: Downloads

    public func request(
        _ request: DownloadRequest,
        didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    ) {}
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
    public func request(
        _ request: DownloadRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        fileURL: URL?,
        withResult result: Request.ValidationResult
    ) {}
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>) {}
    public func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>
    ) {}

    // MARK: Serializers

    public func request<Value: Sendable>(
        _ request: DataRequest,
        didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: any Sendable
    ) { self.request(request, didParseResponse: response) }
    public func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: any Sendable
    ) { self.request(request, didParseResponse: response) }
}
