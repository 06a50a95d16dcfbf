public import CurlewCore
internal import CurlewLocks

extension Request {
    /// How this request uses the session's cache. It goes before the `cachePolicy` of its `URLRequest`; without a cache
    /// `.onlyStored` alone has a meaning.
    @discardableResult
    public func cachePolicy(_ policy: CachePolicy) -> Self {
        record.withLock { $0.ownExtras.options.cachePolicy = policy }
        return self
    }

    /// Decides about this request's response before it is stored, in place of the session's handler. The last handler set
    /// is asked.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        // What was there is released without the lock.
        _ = record.withLock { record in exchange(&record.ownExtras.options.cachedResponseHandler, with: handler) }
        return self
    }
}

extension Session {
    /// The transport below the cache, for what no cache keeps.
    nonisolated var network: any Transport { (transport as? CachingTransport)?.context.network ?? transport }

    /// Waits until the validations have ended that no request waits for, for tests.
    package nonisolated func untilCacheIsIdle() async { await (transport as? CachingTransport)?.settle() }
}

extension DataResponse {
    /// What the cache had to do with the last attempt; nil without a cache.
    public var cacheStatus: CacheStatus? { metrics?.cacheStatus }
}

extension DownloadResponse {
    /// What the cache had to do with the last attempt; nil without a cache.
    public var cacheStatus: CacheStatus? { metrics?.cacheStatus }
}
