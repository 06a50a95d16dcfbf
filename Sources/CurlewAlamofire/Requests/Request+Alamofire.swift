public import Curlew
public import Dispatch
public import Foundation

extension Request {
    /// The type of the closures that `uploadProgress` and `downloadProgress` call.
    public typealias ProgressHandler = @Sendable (_ progress: Progress) -> Void

    /// The latest exchange with what code reads of a `URLSessionTask`; also after its end. It takes the place of Curlew's
    /// `task`, the identifier of the exchange in flight; in a file that imports `Curlew` too, only where more than the
    /// identifier is asked for.
    @_disfavoredOverload
    public var task: RequestTask? { latestTask.map { RequestTask(identifier: $0, request: self) } }

    /// What the request was told about its start; nil leaves it to the session.
    public var shouldAutomaticallyResume: Bool? { automaticallyResumes }

    /// A queue in Alamofire's place: nothing runs there of itself.
    public var underlyingQueue: DispatchQueue { Session.underlyingQueue }

    /// A queue in Alamofire's place: responses are serialized in the task that runs the request.
    public var serializationQueue: DispatchQueue { Session.serializing }
}

extension Session {
    // For all sessions, as nothing of Curlew's runs there. Three, as in Alamofire: work on one may wait for work on another. None
    // targets the main queue: `sync` from the main thread would stop the process.
    static let underlyingQueue = DispatchQueue(label: "org.curlew.session.rootQueue")
    private static let requesting = DispatchQueue(label: "org.curlew.session.requestQueue")
    static let serializing = DispatchQueue(label: "org.curlew.session.serializationQueue")

    /// A queue in Alamofire's place. Nothing of Curlew's runs there.
    public nonisolated var rootQueue: DispatchQueue { Self.underlyingQueue }

    /// The request of an exchange, while that lives.
    public subscript(task: RequestTask) -> Request? { self[task.identifier] }

    /// A queue in Alamofire's place: requests are encoded in the task that runs them.
    public nonisolated var requestQueue: DispatchQueue { Self.requesting }

    /// A queue in Alamofire's place: responses are serialized in the task that runs the request.
    public nonisolated var serializationQueue: DispatchQueue { Self.serializing }
}
