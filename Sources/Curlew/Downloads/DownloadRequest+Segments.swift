internal import CurlewLocks

extension DownloadRequest {
    /// Fetches the file by several requests at a time, each a part of it.
    ///
    ///     try await session.download(url, to: destination).segments(4).file()
    ///
    /// It helps where one connection is slow and the server is not. The first request asks for the file's
    /// beginning; if the server has ranges and says which version of the file it sends, the rest is divided,
    /// otherwise one stream brings it all. Parts of different versions are never put together. Progress,
    /// cancelling, resume data and retries are those of the whole.
    @discardableResult
    public func segments(_ count: Int) -> Self {
        download.withLock { $0.segments = max(1, count) }
        return self
    }
}
