public import Curlew
public import Foundation

extension RequestNotifications {
    /// The keys of `userInfo`. A value is present if it is known when the notification is posted. The properties of
    /// `Notification` return the values with their types.
    public enum Key {
        /// A `Request`.
        public static let request = key("request")
        /// A `TaskIdentifier`.
        public static let task = key("task")
        /// The body as `Data`.
        public static let responseData = key("responseData")
        /// The serializer that made `serializedResponse`.
        public static let responseSerializer = key("responseSerializer")
        /// The value that the serializer made of the body.
        public static let serializedResponse = key("serializedResponse")
        /// The `URL` of the file that contains the body.
        public static let fileURL = key("fileURL")
        /// A `CurlewError`.
        public static let error = key("error")
        /// `TransferMetrics`.
        public static let metrics = key("metrics")
        /// A `SessionReference`.
        public static let session = key("session")

        private static func key(_ name: String) -> String { "org.curlew.notification.key.\(name)" }
    }
}

extension Notification {
    /// The request that the notification is about.
    public var request: Request? { value(RequestNotifications.Key.request) }
    /// The exchange that the notification is about.
    public var task: TaskIdentifier? { value(RequestNotifications.Key.task) }
    /// The response's body.
    public var responseData: Data? { value(RequestNotifications.Key.responseData) }
    /// The serializer of `didCompleteNotification`.
    public var responseSerializer: Any? { userInfo?[RequestNotifications.Key.responseSerializer] }
    /// The value that the serializer made of the body.
    public var serializedResponse: Any? { userInfo?[RequestNotifications.Key.serializedResponse] }
    /// The file that contains the body.
    public var fileURL: URL? { value(RequestNotifications.Key.fileURL) }
    /// The error.
    public var curlewError: CurlewError? { value(RequestNotifications.Key.error) }
    /// The metrics of the exchange.
    public var metrics: TransferMetrics? { value(RequestNotifications.Key.metrics) }
    /// The session of `Session.didInvalidateNotification`.
    public var session: SessionReference? { value(RequestNotifications.Key.session) }

    private func value<Value>(_ key: String) -> Value? { userInfo?[key] as? Value }
}
