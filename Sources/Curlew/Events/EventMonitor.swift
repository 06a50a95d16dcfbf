public import CurlewCore
public import Dispatch
public import Foundation
public import FoundationNetworking

/// Watches what requests do. Every requirement has a default that does nothing.
///
/// A monitor gets its events in order on its own `queue`, never on the transport's thread, and can slow
/// nothing down but that queue. A session's monitors see everything; a request's own see its `request(…)` events.
///
/// What waits for a queue is bounded. Of the events that come with every piece of a body, 16 MiB wait at most, and
/// a monitor that is further behind misses pieces; other events it never misses.
public protocol EventMonitor: Sendable {
    /// Where the events arrive. It should be serial. The default is the main queue.
    var queue: DispatchQueue { get }

    // MARK: Exchanges

    /// A session was invalidated, or has gone.
    func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?)
    /// Bytes of a request's body have gone out.
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
    /// An exchange's measurements are complete.
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics)
    /// An exchange has ended.
    func urlSession(_ session: SessionReference, task: TaskIdentifier, didCompleteWithError error: (any Error)?)
    /// A response's head has come.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive response: HTTPURLResponse)
    /// Body bytes have come, decoded. They are copied only for monitors that have this method.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, didReceive data: Data)
    /// A response is about to be stored. Bodies above 8 MiB are not kept for this, and their responses not told.
    func urlSession(_ session: SessionReference, dataTask: TaskIdentifier, willCacheResponse response: CachedResponse)
    /// A download goes on where an earlier one stopped.
    func urlSession(
        _ session: SessionReference,
        downloadTask: TaskIdentifier,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
    /// Bytes were written to a download's file.
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

    /// The request as described, before adapters.
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
    /// The description makes no request.
    func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError)
    /// The adapters are through.
    func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest)
    /// An adapter failed.
    func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError)
    /// The final `URLRequest` of a try.
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)
    /// An exchange has its name.
    func request(_ request: Request, didCreateTask task: TaskIdentifier)
    /// A try's measurements.
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
    /// A try failed before its exchange had ended.
    func request(_ request: Request, didFailTask task: TaskIdentifier, earlyWithError error: CurlewError)
    /// A try has ended; `error` is the transport's or the validation's.
    func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?)
    /// Another try follows.
    func requestIsRetrying(_ request: Request)
    /// The last try is over, the serializers come.
    func requestDidFinish(_ request: Request)
    /// `resume()`, or the first await.
    func requestDidResume(_ request: Request)
    /// The exchange goes on, or starts.
    func request(_ request: Request, didResumeTask task: TaskIdentifier)
    /// `suspend()`.
    func requestDidSuspend(_ request: Request)
    /// The exchange is held.
    func request(_ request: Request, didSuspendTask task: TaskIdentifier)
    /// `cancel()`, or the driver's cancellation.
    func requestDidCancel(_ request: Request)
    /// The exchange is being cancelled.
    func request(_ request: Request, didCancelTask task: TaskIdentifier)

    // MARK: Data

    /// One `validate` has run.
    func request(
        _ request: DataRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        data: Data?,
        withResult result: Request.ValidationResult
    )
    /// An unserialized response is complete.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>)
    /// A response was serialized.
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>)
    /// A response was serialized, by this serializer. By default the form without the serializer is called.
    func request<Value: Sendable>(
        _ request: DataRequest,
        didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: any Sendable
    )

    // MARK: Streams

    /// One `validate` has run.
    func request(
        _ request: DataStreamRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    )
    /// A chunk was serialized.
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>)

    // MARK: Uploads

    /// The body of a try is there.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// There is no body.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: CurlewError)
    /// A stream is about to be read as the body.
    func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream)

    // MARK: Downloads

    /// The body is in its file, or could not be put there.
    func request(
        _ request: DownloadRequest,
        didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    )
    /// Where the file goes.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// One `validate` has run.
    func request(
        _ request: DownloadRequest,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        fileURL: URL?,
        withResult result: Request.ValidationResult
    )
    /// An unserialized response is complete.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>)
    /// A response was serialized.
    func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>
    )
    /// A response was serialized, by this serializer. By default the form without the serializer is called.
    func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: any Sendable
    )
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
