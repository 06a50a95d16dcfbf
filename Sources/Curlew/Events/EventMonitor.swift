public import CurlewCore
public import Dispatch
public import Foundation
public import FoundationNetworking

/// Watches what requests do. Every requirement has a default that does nothing.
///
/// A monitor gets its events in order on its own `queue`, never on the transport's thread, and can slow
/// nothing down but that queue. A session's monitors see everything; a request's own see its `request(…)` events.
///
/// The events are declared in the order in which they come (scripts/event-table makes the guide's table of them).
///
/// What waits for a queue is bounded. Of the events that come with every piece of a body, 16 MiB wait at most, and
/// a monitor that is further behind misses pieces; other events it never misses.
public protocol EventMonitor: Sendable {
    /// Where the events arrive. It should be serial. The default is the main queue.
    var queue: DispatchQueue { get }

    // MARK: The request begins

    /// The request was started, by `resume()` or the first await.
    func requestDidResume(_ request: Request)
    /// The `URLRequest` exists as described, before adapters.
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
    /// The description makes no `URLRequest`.
    func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError)

    // MARK: An attempt begins

    /// The adapters have returned a request.
    func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest)
    /// An adapter failed.
    func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError)
    /// The body of an attempt is ready.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// The body of an attempt could not be made.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError)
    /// The `URLRequest` of an attempt is final.
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)

    // MARK: An exchange is sent

    /// The exchange has an identifier.
    func request(_ request: Request, didCreateTask task: TaskIdentifier)
    /// The exchange begins, or goes on after `suspend()`.
    func request(_ request: Request, didResumeTask task: TaskIdentifier)
    /// A stream is about to be read as the body.
    func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream)
    /// A streamed body is about to be read, or read again.
    func urlSession(_ session: SessionReference, taskNeedsNewBodyStream task: TaskIdentifier)
    /// Bytes of the body have been sent.
    func urlSession(
        _ session: SessionReference,
        task: TaskIdentifier,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )

    // MARK: The response arrives

    /// The head of the response has arrived.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse)
    /// A validator has run, before the first byte; once for each.
    func request(
        _ request: DataStreamRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    )
    /// A download continues where an earlier one stopped.
    func urlSession(
        _ session: SessionReference,
        downloadTask: TaskIdentifier,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
    /// Bytes of the body have arrived, decoded. They are copied only for monitors that have this method.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data)
    /// Bytes have been written to a download's file.
    func urlSession(
        _ session: SessionReference,
        downloadTask: TaskIdentifier,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )
    /// A response is about to be stored. Bodies above 8 MiB are not kept for this, and their responses not told.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse)
    /// Curlew itself ended the exchange before its end.
    func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError)
    /// The metrics of the exchange are complete.
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics)
    /// The metrics of the exchange are complete, for monitors of one request too.
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
    /// The exchange has ended.
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?)
    /// A redirect is about to be followed.
    func urlSession(
        _ session: SessionReference,
        task: TaskIdentifier,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    )

    // MARK: The attempt ends

    /// A validator has run; once for each.
    func request(
        _ request: DataRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        data: Data?,
        withResult result: Request.ValidationResult
    )
    /// A validator has run; once for each.
    func request(
        _ request: DownloadRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        fileURL: URL?,
        withResult result: Request.ValidationResult
    )
    /// The body is in its file, or could not be put there.
    func request(
        _ request: DownloadRequest,
        didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    )
    /// A download's temporary file is complete.
    func urlSession(_ session: SessionReference, downloadTask: TaskIdentifier, didFinishDownloadingTo location: URL)
    /// The file of a download has its place.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// The attempt has ended, with the error of the transport or of validation.
    func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?)
    /// Another attempt follows, from the adapters on.
    func requestIsRetrying(_ request: Request)

    // MARK: The request ends

    /// There is no further attempt; serializers come next.
    func requestDidFinish(_ request: Request)
    /// A response without a serializer is complete.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>)
    /// A response has been serialized; once for each handler.
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>)
    /// A response has been serialized by this serializer. By default the form without the serializer is called.
    func request<Value: Sendable>(
        _ request: DataRequest,
        didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: any Sendable
    )
    /// A download without a serializer is complete.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>)
    /// A download has been serialized; once for each handler.
    func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>
    )
    /// A download has been serialized by this serializer. By default the form without the serializer is called.
    func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: any Sendable
    )

    // MARK: At any time

    /// A chunk of a stream has been serialized.
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>)
    /// `suspend()` was called.
    func requestDidSuspend(_ request: Request)
    /// The exchange is held.
    func request(_ request: Request, didSuspendTask task: TaskIdentifier)
    /// The request was cancelled, by `cancel()` or with the task that drives it.
    func requestDidCancel(_ request: Request)
    /// The exchange is being cancelled.
    func request(_ request: Request, didCancelTask task: TaskIdentifier)
    /// The session was invalidated, or is gone.
    func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?)
}

/// The session that an event comes from, without keeping it alive.
public struct SessionReference: Sendable {
    /// The configuration's `identifier`.
    public let identifier: String?
    /// The session, while it exists.
    public private(set) weak var session: Session?

    init(identifier: String?, session: Session?) {
        self.identifier = identifier
        self.session = session
    }
}
