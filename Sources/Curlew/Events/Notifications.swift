public import CurlewCore
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

    fileprivate static let notificationKey = "org.curlew.notification.key.request"

    private static func name(_ event: String) -> Notification.Name {
        Notification.Name("org.curlew.notification.name.request.\(event)")
    }
}

extension Notification {
    /// The request that the notification is about.
    public var request: Request? { userInfo?[Request.notificationKey] as? Request }
}

/// Posts a notification for what requests do. Give it to a session to have them; they cost something.
public final class RequestNotifications: EventMonitor {
    /// Where notifications are posted.
    public let queue: DispatchQueue

    /// Posts on `queue`.
    public init(queue: DispatchQueue = .main) { self.queue = queue }

    private func post(_ name: Notification.Name, _ request: Request) {
        NotificationCenter.default.post(name: name, object: nil, userInfo: [Request.notificationKey: request])
    }

    public func requestDidResume(_ request: Request) { post(Request.didResumeNotification, request) }

    public func requestDidSuspend(_ request: Request) { post(Request.didSuspendNotification, request) }

    public func requestDidCancel(_ request: Request) { post(Request.didCancelNotification, request) }

    public func requestDidFinish(_ request: Request) { post(Request.didFinishNotification, request) }

    public func request(_ request: Request, didResumeTask task: TaskIdentifier) {
        post(Request.didResumeTaskNotification, request)
    }

    public func request(_ request: Request, didSuspendTask task: TaskIdentifier) {
        post(Request.didSuspendTaskNotification, request)
    }

    public func request(_ request: Request, didCancelTask task: TaskIdentifier) {
        post(Request.didCancelTaskNotification, request)
    }

    public func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) {
        post(Request.didCompleteTaskNotification, request)
    }
}

/// Alamofire's name for `RequestNotifications`.
public typealias AlamofireNotifications = RequestNotifications
