public import Curlew
public import Foundation
public import FoundationNetworking

/// Observes requests with Alamofire's methods. Every method has a default that does nothing.
///
/// It refines Curlew's `EventMonitor` and hides that name. Default implementations of Curlew's methods pass on the
/// events that have another name here: a type that implements one of those methods itself does not receive these
/// events.
///
/// `wantsBodies` is true by default, because these monitors have a method for the bytes of bodies.
public protocol EventMonitor: Curlew.EventMonitor {
    // MARK: Exchanges

    /// The session was invalidated or deallocated.
    func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?)
    /// Bytes of the body have been sent.
    func urlSession(
        _ session: SessionReference,
        task: TaskIdentifier,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )
    /// A streamed body is about to be read, or read again.
    func urlSession(_ session: SessionReference, taskNeedsNewBodyStream task: TaskIdentifier)
    /// A redirect is about to be followed.
    func urlSession(
        _ session: SessionReference,
        task: TaskIdentifier,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    )
    /// The metrics of the exchange are complete.
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics)
    /// The exchange has ended.
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?)
    /// The head of the response has arrived.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse)
    /// Decoded bytes of the body have arrived.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data)
    /// A response of at most 8 MiB is about to be stored.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse)
    /// A download continues where an earlier one stopped.
    func urlSession(
        _ session: SessionReference,
        downloadTask: TaskIdentifier,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
    /// Bytes have been written to a download's file.
    func urlSession(
        _ session: SessionReference,
        downloadTask: TaskIdentifier,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )
    /// A download's temporary file is complete.
    func urlSession(_ session: SessionReference, downloadTask: TaskIdentifier, didFinishDownloadingTo location: URL)

    // MARK: Requests

    /// The exchange starts, or continues after `suspend()`.
    func request(_ request: Request, didResumeTask task: TaskIdentifier)
    /// The exchange is suspended.
    func request(_ request: Request, didSuspendTask task: TaskIdentifier)
    /// The exchange is being cancelled.
    func request(_ request: Request, didCancelTask task: TaskIdentifier)
    /// Curlew ended the exchange early.
    func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError)

    // MARK: Kinds of requests

    /// A validator has run; once for each.
    func request(
        _ request: DataRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        data: Data?,
        withResult result: Request.ValidationResult
    )
    /// A response without a serializer is complete.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>)
    /// A validator has run, before the first byte; once for each.
    func request(
        _ request: DataStreamRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    )
    /// The body of an attempt is ready.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// The body of an attempt could not be made.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError)
    /// A stream is about to be read as the body.
    func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream)
    /// The body is in its file, or could not be put there.
    func request(
        _ request: DownloadRequest,
        didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    )
    /// The file of a download is at its destination.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// A validator has run; once for each.
    func request(
        _ request: DownloadRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        fileURL: URL?,
        withResult result: Request.ValidationResult
    )
    /// A download without a serializer is complete.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>)
}

// Every method is optional.
extension EventMonitor {
    public func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {}
    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}
    public func urlSession(_ session: SessionReference, taskNeedsNewBodyStream task: TaskIdentifier) {}
    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {}
    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics
    ) {}
    public func urlSession(
        _ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?
    ) {}
    public func urlSession(
        _ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse
    ) {}
    public func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data) {}
    public func urlSession(
        _ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse
    ) {}
    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {}
    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {}
    public func urlSession(
        _ session: SessionReference, downloadTask: TaskIdentifier, didFinishDownloadingTo location: URL
    ) {}

    public func request(_ request: Request, didResumeTask task: TaskIdentifier) {}
    public func request(_ request: Request, didSuspendTask task: TaskIdentifier) {}
    public func request(_ request: Request, didCancelTask task: TaskIdentifier) {}
    public func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError) {}

    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {}
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>) {}
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {}
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {}
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError) {}
    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {}
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    ) {}
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {}
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>) {}
}

// Curlew's own monitors conform to this protocol too.
extension LogEventMonitor: EventMonitor {}
extension HARRecorder: EventMonitor {}
