internal import CurlewLocks

/// What a session has to do, by kind, in the order in which it was made.
///
///     for request in await session.tasks.downloads { request.cancel(producingResumeData: true) }
public struct SessionTasks: Sendable {
    /// Everything: what runs, and what waits for `resume()` with handlers.
    public let all: [Request]

    init(_ requests: Set<Request>) { all = requests.sorted { $0.serial < $1.serial } }

    /// Data requests that send no body of their own.
    public var data: [DataRequest] { all.compactMap { $0 is UploadRequest ? nil : $0 as? DataRequest } }
    /// Uploads.
    public var uploads: [UploadRequest] { all.compactMap { $0 as? UploadRequest } }
    /// Downloads.
    public var downloads: [DownloadRequest] { all.compactMap { $0 as? DownloadRequest } }
    /// Streams.
    public var streams: [DataStreamRequest] { all.compactMap { $0 as? DataStreamRequest } }
}

extension Session {
    /// What this session has to do, by kind. A snapshot.
    public var tasks: SessionTasks { SessionTasks(Set(activeRequests).union(shelf.all)) }
}

extension Request {
    /// A text of yours that goes with the request: for logs, and for finding a download again in another process.
    public var taskDescription: String? {
        get { record.withLock { $0.extras?.hooks.taskDescription } }
        set { record.withLock { $0.ownExtras.hooks.taskDescription = newValue } }
    }
}
