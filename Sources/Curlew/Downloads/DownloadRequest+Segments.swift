internal import CurlewLocks

extension DownloadRequest {
    /// Fetches the file with several concurrent requests, each for a part of it.
    ///
    ///     try await session.download(url, to: destination).segments(4).file()
    ///
    /// This helps if a single connection is slow and the server is not. The first request asks for the beginning of the
    /// file. If the server supports ranges and identifies the version of the file, the rest is divided; otherwise one
    /// stream fetches all of it. Parts of different versions are never combined. Progress, cancelling, resume data and
    /// retries concern the whole file.
    @discardableResult
    public func segments(_ count: Int) -> Self {
        download.withLock { $0.segments = max(1, count) }
        return self
    }
}
