public import CurlewCore
public import Dispatch
public import Foundation
public import FoundationNetworking

/// Observes requests. Every method has a default that does nothing.
///
///     final class SlowRequests: EventMonitor {
///         let queue = DispatchQueue(label: "slow-requests")
///
///         func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
///             if metrics.duration > 1 { print(request, metrics.duration) }
///         }
///     }
///
/// A monitor receives events in order on its own `queue`, never on the transport's thread. It delays nothing but that
/// queue. A session's monitors receive every event of its requests. A monitor of one request does not receive the
/// events of single exchanges, `request(_:task:…)` and `request(_:taskNeedsNewBodyStream:)`, nor those of the session,
/// `session(_:…)`.
///
/// Methods are declared in the order of their events; scripts/event-table makes the guide's table from these
/// declarations.
///
/// Waiting events about bodies are bounded. At most 16 MiB of events about pieces of bodies, chunks of streams and
/// responses that are about to be stored wait for a queue; beyond that, a slow monitor misses some of these. It never
/// misses any other event.
public protocol EventMonitor: Sendable {
    /// The queue on which events are delivered. It should be serial. The default is the main queue.
    var queue: DispatchQueue { get }
    /// Whether the monitor receives copies of response bodies. Read once, when the monitor is added. The default is
    /// false.
    var wantsBodies: Bool { get }

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
    /// The body of an attempt is ready, could not be made, or was replaced by the session because it has to be sent
    /// again.
    func request(_ request: UploadRequest, didCreateBody result: Result<UploadRequest.Uploadable, CurlewError>)
    /// The `URLRequest` of an attempt is final.
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)

    // MARK: An exchange is sent

    /// The exchange has an identifier.
    func request(_ request: Request, didCreateTask task: TaskIdentifier)
    /// The exchange begins, is suspended, continues, is cancelled, or is ended early by Curlew.
    func request(_ request: Request, didChangeTask task: TaskIdentifier, to change: TaskChange)
    /// A streamed body is about to be read, for each exchange.
    func request(_ request: Request, taskNeedsNewBodyStream task: TaskIdentifier)
    /// Bytes of the body have been sent.
    func request(
        _ request: Request,
        task: TaskIdentifier,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )

    // MARK: The response arrives

    /// The head of the response has arrived from `url`.
    func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL)
    /// A download continues where an earlier one stopped.
    func request(
        _ request: DownloadRequest,
        task: TaskIdentifier,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
    /// Decoded bytes of the body have arrived. Only for monitors whose `wantsBodies` is true.
    func request(_ request: Request, task: TaskIdentifier, didReceive data: Data)
    /// Bytes have been written to a download's file.
    func request(
        _ request: DownloadRequest,
        task: TaskIdentifier,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )
    /// A response of at most 8 MiB is about to be stored. Only for monitors whose `wantsBodies` is true.
    func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse)
    /// The metrics of the exchange are complete.
    func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics)
    /// The metrics of the attempt's last exchange are complete.
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
    /// The attempt's last exchange has ended.
    func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?)
    /// The redirect from `url` is about to be followed.
    func request(
        _ request: Request,
        task: TaskIdentifier,
        willFollowRedirect head: ResponseHead,
        from url: URL,
        to newRequest: URLRequest
    )

    // MARK: The attempt ends

    /// The body is in its file, or could not be put there.
    func request(
        _ request: DownloadRequest,
        didFinishDownloading result: Result<URL, CurlewError>,
        of task: TaskIdentifier
    )
    /// The attempt has ended, with the error of the transport or of validation.
    func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?)
    /// Another attempt follows, from the adapters on.
    func requestIsRetrying(_ request: Request)

    // MARK: The request ends

    /// There is no further attempt; serializers come next.
    func requestDidFinish(_ request: Request)
    /// A response has been serialized; once for each handler. `Value` is `Data?` without a serializer.
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>)
    /// A response has been serialized by `serializer`, if there is one. The default calls the method without the
    /// serializer.
    func request<Value: Sendable>(
        _ request: DataRequest,
        didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    )
    /// A download has been serialized; once for each handler. `Value` is `URL?` without a serializer.
    func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>
    )
    /// A download has been serialized by `serializer`, if there is one. The default calls the method without the
    /// serializer.
    func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    )

    // MARK: At any time

    /// The session's ``Resilience`` has decided whether an attempt is sent, or has refused a retry. An attempt that waited
    /// and was suspended meanwhile is decided about again.
    func request(_ request: Request, didDecide decision: ResilienceDecision)
    /// A validator has run; once for each. Streams are validated before their first byte, others when their body is
    /// complete.
    func request(
        _ request: Request,
        didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse,
        data: Data?,
        fileURL: URL?,
        withResult result: Request.ValidationResult
    )
    /// A chunk of a stream has been serialized.
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>)
    /// `suspend()` was called.
    func requestDidSuspend(_ request: Request)
    /// The request was cancelled, by `cancel()` or with the task that drives it.
    func requestDidCancel(_ request: Request)
    /// The session's ``Resilience`` has opened or closed a circuit, ejected or returned an endpoint, or refused a second
    /// copy.
    func session(_ session: SessionReference, didDecide decision: SessionDecision)
    /// The session was invalidated, or deallocated.
    func session(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?)
}

/// A change in the state of an exchange, made by the user or by Curlew.
public enum TaskChange: Sendable {
    /// The exchange starts, or continues after `suspend()`.
    case resumed
    /// The exchange is suspended.
    case suspended
    /// The exchange is being cancelled.
    case cancelled
    /// Curlew ended the exchange early, for instance because the response is too large.
    case failed(CurlewError)
}

/// The session that an event belongs to. Does not keep the session alive.
public struct SessionReference: Sendable {
    /// The `identifier` of the session's configuration.
    public let identifier: String?
    /// The session. `nil` once it has been deallocated.
    public private(set) weak var session: Session?

    init(identifier: String?, session: Session?) {
        self.identifier = identifier
        self.session = session
    }
}

extension EventMonitor {
    public var queue: DispatchQueue { .main }
    public var wantsBodies: Bool { false }

    public func requestDidResume(_ request: Request) {}
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {}
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) {}

    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) {}
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError
    ) {}
    public func request(
        _ request: UploadRequest, didCreateBody result: Result<UploadRequest.Uploadable, CurlewError>
    ) {}
    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {}

    public func request(_ request: Request, didCreateTask task: TaskIdentifier) {}
    public func request(_ request: Request, didChangeTask task: TaskIdentifier, to change: TaskChange) {}
    public func request(_ request: Request, taskNeedsNewBodyStream task: TaskIdentifier) {}
    public func request(
        _ request: Request, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    public func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) {}
    public func request(
        _ request: DownloadRequest, task: TaskIdentifier, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {}
    public func request(_ request: Request, task: TaskIdentifier, didReceive data: Data) {}
    public func request(
        _ request: DownloadRequest, task: TaskIdentifier, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {}
    public func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse) {}
    public func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) {}
    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
    public func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?) {}
    public func request(
        _ request: Request, task: TaskIdentifier, willFollowRedirect head: ResponseHead, from url: URL,
        to newRequest: URLRequest
    ) {}

    public func request(
        _ request: DownloadRequest, didFinishDownloading result: Result<URL, CurlewError>, of task: TaskIdentifier
    ) {}
    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {}
    public func requestIsRetrying(_ request: Request) {}

    public func requestDidFinish(_ request: Request) {}
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>
    ) {}
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) { self.request(request, didParseResponse: response) }
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>
    ) {}
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) { self.request(request, didParseResponse: response) }

    public func request(_ request: Request, didDecide decision: ResilienceDecision) {}
    public func request(
        _ request: Request, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {}
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>
    ) {}
    public func requestDidSuspend(_ request: Request) {}
    public func requestDidCancel(_ request: Request) {}
    public func session(_ session: SessionReference, didDecide decision: SessionDecision) {}
    public func session(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {}
}
