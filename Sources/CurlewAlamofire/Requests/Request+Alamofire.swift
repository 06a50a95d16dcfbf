public import Curlew
public import Dispatch
public import Foundation

extension Request {
    /// What `uploadProgress` and `downloadProgress` call.
    public typealias ProgressHandler = @Sendable (_ progress: Progress) -> Void

    /// The latest exchange with what code reads of a `URLSessionTask`; also after its end. It takes the place of Curlew's
    /// `task`, the identifier of the exchange in flight; in a file that imports `Curlew` too, only where more than the
    /// identifier is asked for.
    @_disfavoredOverload
    public var task: RequestTask? { latestTask.map { RequestTask(identifier: $0, request: self) } }

    /// What the request was told about its start; nil leaves it to the session.
    public var shouldAutomaticallyResume: Bool? { automaticallyResumes }

    /// A queue in Alamofire's place: nothing runs there of itself.
    public var underlyingQueue: DispatchQueue { Session.mainTargetQueue }

    /// A queue in Alamofire's place: responses are serialized in the task that runs the request.
    public var serializationQueue: DispatchQueue { Session.mainTargetQueue }
}

extension Session {
    /// One for all: what is put on it comes in turn with handlers and progress, which are called on the main queue.
    static let mainTargetQueue = DispatchQueue(label: "org.curlew.session.rootQueue", target: .main)

    /// A queue in Alamofire's place, whose work comes in turn with handlers and progress. Nothing of Curlew's runs there.
    public nonisolated var rootQueue: DispatchQueue { Self.mainTargetQueue }

    /// The request of an exchange, while that lives.
    public subscript(task: RequestTask) -> Request? { self[task.identifier] }

    /// A queue in Alamofire's place: requests are encoded in the task that runs them.
    public nonisolated var requestQueue: DispatchQueue { Self.mainTargetQueue }

    /// A queue in Alamofire's place: responses are serialized in the task that runs the request.
    public nonisolated var serializationQueue: DispatchQueue { Self.mainTargetQueue }
}
