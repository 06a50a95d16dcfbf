public import CurlewCore
internal import CurlewLocks

extension Request {
    /// Sets how this request uses the session's cache. It takes precedence over the `cachePolicy` of the `URLRequest`.
    /// Without a cache, only `.onlyStored` has an effect.
    @discardableResult
    public func cachePolicy(_ policy: CachePolicy) -> Self {
        record.withLock { $0.ownExtras.options.cachePolicy = policy }
        return self
    }

    /// Sets the handler that decides about this request's response before it is stored, in place of the session's
    /// handler. A later call replaces it.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        // The previous handler is released outside the lock.
        _ = record.withLock { record in exchange(&record.ownExtras.options.cachedResponseHandler, with: handler) }
        return self
    }
}

extension Session {
    /// The transport below the cache, for exchanges that cannot be cached.
    nonisolated var network: any Transport { (transport as? CachingTransport)?.context.network ?? transport }

    /// Waits for the background validations, for tests.
    package nonisolated func untilCacheIsIdle() async { await (transport as? CachingTransport)?.settle() }
}
