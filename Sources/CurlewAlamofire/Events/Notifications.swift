public import Curlew
public import Dispatch
public import Foundation

// Using one of these names turns on the notifications about the requests of every session, as in Alamofire. A program
// that uses none of them pays nothing.

extension Request {
    /// A request was resumed.
    public static let didResumeNotification = RequestNotifications.wanted(.didResume)
    /// A request was suspended.
    public static let didSuspendNotification = RequestNotifications.wanted(.didSuspend)
    /// A request was cancelled.
    public static let didCancelNotification = RequestNotifications.wanted(.didCancel)
    /// A request has finished.
    public static let didFinishNotification = RequestNotifications.wanted(.didFinish)
    /// An exchange was started or continued.
    public static let didResumeTaskNotification = RequestNotifications.wanted(.didResumeTask)
    /// An exchange was suspended.
    public static let didSuspendTaskNotification = RequestNotifications.wanted(.didSuspendTask)
    /// An exchange is being cancelled.
    public static let didCancelTaskNotification = RequestNotifications.wanted(.didCancelTask)
    /// An exchange has ended.
    public static let didCompleteTaskNotification = RequestNotifications.wanted(.didCompleteTask)

    /// A request's result is available. Posted once for each response handler, with the value that its serializer made,
    /// or once for a request without handlers.
    public static let didCompleteNotification = RequestNotifications.wanted(.didComplete)
}

extension DownloadRequest {
    /// A download's file is at its destination.
    public static let didMoveFileNotification = RequestNotifications.wanted(.didMoveFile)
    /// A download's file could not be put at its destination.
    public static let didFailToMoveFileNotification = RequestNotifications.wanted(.didFailToMoveFile)
}

extension Session {
    /// A session was invalidated or deallocated. Posted only for sessions with `RequestNotifications` among their
    /// monitors.
    public static let didInvalidateNotification = Notification.Name(
        "org.curlew.notification.name.session.didInvalidate")
}

/// The names for posting. Unlike the public constants, they do not turn on notifications.
extension Notification.Name {
    fileprivate static let didResume = ofRequest("didResume")
    fileprivate static let didSuspend = ofRequest("didSuspend")
    fileprivate static let didCancel = ofRequest("didCancel")
    fileprivate static let didFinish = ofRequest("didFinish")
    fileprivate static let didResumeTask = ofRequest("didResumeTask")
    fileprivate static let didSuspendTask = ofRequest("didSuspendTask")
    fileprivate static let didCancelTask = ofRequest("didCancelTask")
    fileprivate static let didCompleteTask = ofRequest("didCompleteTask")
    fileprivate static let didComplete = ofRequest("didComplete")
    fileprivate static let didMoveFile = Notification.Name("org.curlew.notification.name.download.didMoveFile")
    fileprivate static let didFailToMoveFile = Notification.Name(
        "org.curlew.notification.name.download.didFailToMoveFile")

    private static func ofRequest(_ event: String) -> Notification.Name {
        Notification.Name("org.curlew.notification.name.request.\(event)")
    }
}

/// Posts notifications about the events of requests and sessions. `userInfo` contains what is known at that time: see
/// `RequestNotifications.Key`.
///
/// Using the name of one of the notifications is enough to receive them for every request, on the main queue. Add a
/// monitor to a session to receive them on another queue, and to receive those of the session itself.
public final class RequestNotifications: EventMonitor {
    /// The queue on which notifications are posted.
    public let queue: DispatchQueue
    /// Always false: no notification contains the pieces of a body.
    public let wantsBodies = false

    /// Whether this is the monitor of the process, which posts only for requests that no other `RequestNotifications`
    /// monitors.
    private let isForTheOthers: Bool

    /// Creates a monitor that posts on `queue`.
    public init(queue: DispatchQueue = .main) {
        self.queue = queue
        isForTheOthers = false
    }

    private init(isForTheOthers: Bool) {
        queue = .main
        self.isForTheOthers = isForTheOthers
    }

    private static let ofTheProcess = RequestNotifications(isForTheOthers: true)

    /// Turns on the notifications of the process, and returns the name.
    fileprivate static func wanted(_ name: Notification.Name) -> Notification.Name {
        ProcessMonitor.set(ofTheProcess)
        return name
    }

    // MARK: Requests

    public func requestDidResume(_ request: Request) { post(.didResume, request) }

    public func requestDidSuspend(_ request: Request) { post(.didSuspend, request) }

    public func requestDidCancel(_ request: Request) { post(.didCancel, request) }

    public func requestDidFinish(_ request: Request) {
        post(.didFinish, request)
        if !request.hasResponseHandlers { post(.didComplete, request) }
    }

    public func request(_ request: Request, didResumeTask task: TaskIdentifier) {
        post(.didResumeTask, request, [Key.task: task])
    }

    public func request(_ request: Request, didSuspendTask task: TaskIdentifier) {
        post(.didSuspendTask, request, [Key.task: task])
    }

    public func request(_ request: Request, didCancelTask task: TaskIdentifier) {
        post(.didCancelTask, request, [Key.task: task])
    }

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        var info: [String: Any] = [Key.task: task]
        if let error { info[Key.error] = error }
        post(.didCompleteTask, request, info)
    }

    // MARK: Responses

    public func request<Value: Sendable>(
        _ request: DataRequest,
        didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) {
        var info = Self.info(response.data, nil, response.error, response.metrics)
        if let serializer {
            info[Key.responseSerializer] = serializer
            if let value = response.value { info[Key.serializedResponse] = value }
        }
        post(.didComplete, request, info)
    }

    public func request<Value: Sendable>(
        _ request: DownloadRequest,
        didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) {
        var info = Self.info(nil, response.fileURL, response.error, response.metrics)
        if let serializer {
            info[Key.responseSerializer] = serializer
            if let value = response.value { info[Key.serializedResponse] = value }
        }
        post(.didComplete, request, info)
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
            post(.didMoveFile, request, [Key.task: task, Key.fileURL: url])
        case .failure(let error) where error.phase == .validation: break
        case .failure(let error):
            post(.didFailToMoveFile, request, [Key.task: task, Key.error: error])
        }
    }

    public func urlSession(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) {
        var info: [String: Any] = [Key.session: session]
        if let error { info[Key.error] = error }
        NotificationCenter.default.post(name: Session.didInvalidateNotification, object: nil, userInfo: info)
    }

    // MARK: Posting

    /// Posts a notification. `userInfo` contains what the request knows at this time, and `more`.
    private func post(_ name: Notification.Name, _ request: Request, _ more: [String: Any] = [:]) {
        if isForTheOthers, request.hasMonitor(where: { $0 is RequestNotifications }) { return }
        var info = Self.info((request as? DataRequest)?.data, request.bodyFileURL, request.error, request.metrics)
        info[Key.request] = request
        info.merge(more) { $1 }
        NotificationCenter.default.post(name: name, object: nil, userInfo: info)
    }
}

/// Alamofire's name for `RequestNotifications`.
public typealias AlamofireNotifications = RequestNotifications
