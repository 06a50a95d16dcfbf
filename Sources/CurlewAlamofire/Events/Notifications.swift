public import Curlew
public import Dispatch
public import Foundation

extension Request {
    /// A request was resumed.
    public static let didResumeNotification = name("didResume")
    /// A request was suspended.
    public static let didSuspendNotification = name("didSuspend")
    /// A request was cancelled.
    public static let didCancelNotification = name("didCancel")
    /// A request has finished.
    public static let didFinishNotification = name("didFinish")
    /// An exchange goes on.
    public static let didResumeTaskNotification = name("didResumeTask")
    /// An exchange is held.
    public static let didSuspendTaskNotification = name("didSuspendTask")
    /// An exchange is being cancelled.
    public static let didCancelTaskNotification = name("didCancelTask")
    /// An exchange has ended.
    public static let didCompleteTaskNotification = name("didCompleteTask")

    /// A request's result is there: once for every response handler, with what its serializer made of it; once for a
    /// request without handlers.
    public static let didCompleteNotification = name("didComplete")

    private static func name(_ event: String) -> Notification.Name {
        Notification.Name("org.curlew.notification.name.request.\(event)")
    }
}

extension DownloadRequest {
    /// A download's file is at its destination.
    public static let didMoveFileNotification = Notification.Name("org.curlew.notification.name.download.didMoveFile")
    /// A download's file could not be put at its destination.
    public static let didFailToMoveFileNotification =
        Notification.Name("org.curlew.notification.name.download.didFailToMoveFile")
}

extension Session {
    /// A session was invalidated, or has gone.
    public static let didInvalidateNotification = Notification.Name(
        "org.curlew.notification.name.session.didInvalidate")
}

/// Posts a notification for what requests and sessions do, with what is known at that time in its `userInfo`: see
/// `RequestNotifications.Key`. Give it to a session to have them; they cost something.
public final class RequestNotifications: EventMonitor {
    /// Where notifications are posted.
    public let queue: DispatchQueue

    /// Posts on `queue`.
    public init(queue: DispatchQueue = .main) { self.queue = queue }

    // MARK: Requests

    public func requestDidResume(_ request: Request) { post(Request.didResumeNotification, request) }

    public func requestDidSuspend(_ request: Request) { post(Request.didSuspendNotification, request) }

    public func requestDidCancel(_ request: Request) { post(Request.didCancelNotification, request) }

    public func requestDidFinish(_ request: Request) {
        post(Request.didFinishNotification, request)
        if !request.hasResponseHandlers { post(Request.didCompleteNotification, request) }
    }

    public func request(_ request: Request, didResumeTask task: TaskIdentifier) {
        post(Request.didResumeTaskNotification, request, [Key.task: task])
    }

    public func request(_ request: Request, didSuspendTask task: TaskIdentifier) {
        post(Request.didSuspendTaskNotification, request, [Key.task: task])
    }

    public func request(_ request: Request, didCancelTask task: TaskIdentifier) {
        post(Request.didCancelTaskNotification, request, [Key.task: task])
    }

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        var info: [String: Any] = [Key.task: task]
        if let error { info[Key.error] = error }
        post(Request.didCompleteTaskNotification, request, info)
    }

    // MARK: Responses

    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, CurlewError>) {
        post(Request.didCompleteNotification, request, Self.info(response.data, nil, response.error, response.metrics))
    }

    public func request<Value: Sendable>(
        _ request: DataRequest,
        didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: any Sendable
    ) {
        var info = Self.info(response.data, nil, response.error, response.metrics)
        info[Key.responseSerializer] = serializer
        if let value = response.value { info[Key.serializedResponse] = value }
        post(Request.didCompleteNotification, request, info)
    }

    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, CurlewError>) {
        let info = Self.info(nil, response.fileURL, response.error, response.metrics)
        post(Request.didCompleteNotification, request, info)
    }

    public func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: any Sendable
    ) {
        var info = Self.info(nil, response.fileURL, response.error, response.metrics)
        info[Key.responseSerializer] = serializer
        if let value = response.value { info[Key.serializedResponse] = value }
        post(Request.didCompleteNotification, request, info)
    }

    private static func info(
        _ data: Data?,
        _ file: URL?,
        _ error: CurlewError?,
        _ metrics: TransferMetrics?
    ) -> [String: Any] {
        let pairs: [(String, Any?)] = [
            (Key.responseData, data), (Key.fileURL, file), (Key.error, error), (Key.metrics, metrics),
        ]
        return pairs.reduce(into: [:]) { info, pair in if let value = pair.1 { info[pair.0] = value } }
    }

    // MARK: Downloads and sessions

    public func request(
        _ request: DownloadRequest,
        didFinishDownloadingUsing task: TaskIdentifier,
        with result: Result<URL, CurlewError>
    ) {
        switch result {
        case .success(let url):
            post(DownloadRequest.didMoveFileNotification, request, [Key.task: task, Key.fileURL: url])
        case .failure(let error) where error.phase == .validation: break
        case .failure(let error):
            post(DownloadRequest.didFailToMoveFileNotification, request, [Key.task: task, Key.error: error])
        }
    }

    public func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
        var info: [String: Any] = [Key.session: session]
        if let error { info[Key.error] = error }
        NotificationCenter.default.post(name: Session.didInvalidateNotification, object: nil, userInfo: info)
    }

    // MARK: Posting

    /// What is in the `userInfo` beside `more`: what the request knows by now.
    private func post(_ name: Notification.Name, _ request: Request, _ more: [String: Any] = [:]) {
        var info = Self.info((request as? DataRequest)?.data, request.bodyFileURL, request.error, request.metrics)
        info[Key.request] = request
        info.merge(more) { $1 }
        NotificationCenter.default.post(name: name, object: nil, userInfo: info)
    }
}

/// Alamofire's name for `RequestNotifications`.
public typealias AlamofireNotifications = RequestNotifications
