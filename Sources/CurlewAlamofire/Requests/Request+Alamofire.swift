public import Curlew
public import Dispatch
public import Foundation

extension Request {
    /// The type of the closures that `uploadProgress` and `downloadProgress` call.
    public typealias ProgressHandler = @Sendable (_ progress: Progress) -> Void

    /// The latest exchange, also after its end, with the members of a `URLSessionTask` that code reads. It replaces
    /// Curlew's `task`, the identifier of the exchange in flight. A file that imports `Curlew` too uses it only if it
    /// asks for more than the identifier.
    @_disfavoredOverload
    public var task: RequestTask? { latestTask.map { RequestTask(identifier: $0, request: self) } }

    /// The `shouldAutomaticallyResume` that the request was created with. If it is `nil`, the session decides.
    public var shouldAutomaticallyResume: Bool? { automaticallyResumes }

    /// A queue for code that uses Alamofire's. Curlew runs nothing on it.
    public var underlyingQueue: DispatchQueue { Session.underlyingQueue }

    /// A queue for code that uses Alamofire's. Curlew serializes responses in the task that runs the request.
    public var serializationQueue: DispatchQueue { Session.serializing }
}

extension Session {
    // Shared by all sessions, because Curlew runs nothing on them. There are three, as in Alamofire, because work on
    // one may wait for work on another. None targets the main queue: `sync` from the main thread would be a deadlock.
    static let underlyingQueue = DispatchQueue(label: "org.curlew.session.rootQueue")
    private static let requesting = DispatchQueue(label: "org.curlew.session.requestQueue")
    static let serializing = DispatchQueue(label: "org.curlew.session.serializationQueue")

    /// A queue for code that uses Alamofire's. Curlew runs nothing on it.
    public nonisolated var rootQueue: DispatchQueue { Self.underlyingQueue }

    /// Whether adding the first response handler starts a request.
    public nonisolated var startRequestsImmediately: Bool { context.startsImmediately }
    /// Adapts and retries every request of the session, before the request's own interceptor.
    public nonisolated var interceptor: (any Curlew.RequestInterceptor)? { context.interceptor }
    /// Handles the redirects of requests without a redirect handler.
    public nonisolated var redirectHandler: (any Curlew.RedirectHandler)? { context.redirectHandler }
    /// Decides what is stored in the cache, for requests without such a handler.
    public nonisolated var cachedResponseHandler: (any Curlew.CachedResponseHandler)? { context.cachedResponseHandler }
    /// Evaluates the trust of servers instead of libcurl.
    public nonisolated var serverTrustManager: ServerTrustManager? { trustManager }

    /// The request whose current attempt has this exchange, or `nil`.
    public subscript(task: RequestTask) -> Request? { self[task.identifier] }

    /// A queue for code that uses Alamofire's. Curlew encodes requests in the task that runs them.
    public nonisolated var requestQueue: DispatchQueue { Self.requesting }

    /// A queue for code that uses Alamofire's. Curlew serializes responses in the task that runs the request.
    public nonisolated var serializationQueue: DispatchQueue { Self.serializing }
}
