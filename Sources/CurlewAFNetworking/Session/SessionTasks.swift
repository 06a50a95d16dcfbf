public import Curlew

/// The unfinished requests of a session, by kind, in the order of their creation.
///
///     for request in await session.tasks.downloads { request.cancel(producingResumeData: true) }
public struct SessionTasks: Sendable {
    /// All requests: those that run, and those that have handlers and wait for `resume()`.
    public let all: [Request]

    init(_ requests: [Request]) { all = requests }

    /// Data requests that are not uploads.
    public var data: [DataRequest] { all.compactMap { $0 is UploadRequest ? nil : $0 as? DataRequest } }
    /// Uploads.
    public var uploads: [UploadRequest] { all.compactMap { $0 as? UploadRequest } }
    /// Downloads.
    public var downloads: [DownloadRequest] { all.compactMap { $0 as? DownloadRequest } }
    /// Streams.
    public var streams: [DataStreamRequest] { all.compactMap { $0 as? DataStreamRequest } }
}

extension Session {
    /// A snapshot of a session's unfinished requests, by kind.
    public var tasks: SessionTasks { SessionTasks(unfinishedRequests) }
}
