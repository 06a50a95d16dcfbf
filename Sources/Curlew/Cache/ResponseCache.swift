public import CurlewCore
internal import CurlewLocks
public import Foundation

/// A response cache according to RFC 9111. Several sessions can share one.
///
///     let session = Session(configuration: SessionConfiguration { $0.cache = ResponseCache() })
///     let response = await session.request(url).response()
///     print(response.cacheStatus)   // Curlew; hit
///
/// The cache stores responses to `GET` while they are being read, and serves them while they are fresh. After that it
/// asks the server whether they are still valid, and keeps the body if they are.
public final class ResponseCache: Sendable {
    /// The store of the responses.
    package let store: any CacheStore
    /// Whether the cache is private or shared.
    public let mode: CacheMode
    /// Whether only one of many identical requests at the same time is sent, and the others wait for its response.
    package let collapsesRequests: Bool
    /// The maximum number of background validations of a session at the same time. Beyond it, a response that was
    /// served stale is validated when it is requested again.
    package let staleWhileRevalidateLimit: Int

    /// The current time, which tests replace.
    let clock: @Sendable () -> Date
    /// Whether `claimFetch` may take a long time.
    let storeMayWait: Bool
    /// The latest invalidations, for responses under way.
    let invalidations = InvalidationLog()
    private let immediateStore: (any ImmediateStore)?
    private let counters = Lock(CacheStatistics())

    /// Creates a cache.
    public convenience init(
        store: any CacheStore = MemoryCacheStore(),
        mode: CacheMode = .private,
        collapsesRequests: Bool = true,
        staleWhileRevalidateLimit: Int = 16
    ) {
        self.init(
            store: store,
            mode: mode,
            collapsesRequests: collapsesRequests,
            staleWhileRevalidateLimit: staleWhileRevalidateLimit,
            clock: { Date() }
        )
    }

    package init(
        store: any CacheStore,
        mode: CacheMode = .private,
        collapsesRequests: Bool = true,
        staleWhileRevalidateLimit: Int = 16,
        clock: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.mode = mode
        self.collapsesRequests = collapsesRequests
        self.staleWhileRevalidateLimit = max(0, staleWhileRevalidateLimit)
        self.clock = clock
        storeMayWait = !(store is any UnclaimedStore)
        immediateStore = store as? any ImmediateStore
    }

    /// Counts of what the cache has done so far.
    public var statistics: CacheStatistics { counters.withLock { $0 } }

    /// Removes all responses. Responses that are under way are not stored.
    public func removeAll() async {
        invalidations.note([.everything])
        await store.removeAll()
    }

    /// Removes the responses to requests for a URL, whatever their header fields and credentials were. Responses that
    /// are under way are not stored.
    public func remove(for url: URL) async {
        await invalidate(.urls([CacheKey.text(of: Self.withoutCredentials(url))]))
    }

    /// The URL without credentials, as it is sent and stored.
    private static func withoutCredentials(_ url: URL) -> URL {
        guard url.user(percentEncoded: true) != nil || url.password(percentEncoded: true) != nil else { return url }
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        return parts?.url ?? url
    }

    /// The maximum size of a body in bytes, if the store keeps bodies in this process's memory; otherwise `nil`.
    var maximumSizeInMemory: Int? { immediateStore?.maximumEntrySize }

    /// The stored responses for a key; `nil` if the store has to be waited for.
    func entriesAtHand(for key: CacheKey) -> [StoredEntry]? { immediateStore?.entriesAtHand(for: key) }

    func count(_ status: CacheStatus, bytes: Int64 = 0) { counters.withLock { $0.count(status, bytes: bytes) } }

    func countStore() { counters.withLock { $0.stores += 1 } }

    /// Removes the responses that another response has invalidated.
    func invalidate(_ invalidation: Invalidation) async {
        switch invalidation {
        case .none: break
        case .urls(let urls):
            invalidations.note(urls.map { .url($0) })
            for url in urls { await store.removeAll(url: url) }
        case .origin(let origin):
            invalidations.note([.origin(origin)])
            await store.removeAll(origin: origin)
        }
    }
}

extension Request {
    /// Sets how this request uses the session's cache. It takes precedence over the `cachePolicy` of the `URLRequest`.
    /// Without a cache, only `.onlyStored` has an effect.
    @discardableResult
    public func cachePolicy(_ policy: CachePolicy) -> Self {
        record.withLock { $0.ensureExtras().options.cachePolicy = policy }
        return self
    }

    /// Sets the handler that decides about this request's response before it is stored, in place of the session's
    /// handler. A later call replaces it.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        // The previous handler is released outside the lock.
        _ = record.withLock { record in exchange(&record.ensureExtras().options.cachedResponseHandler, with: handler) }
        return self
    }
}

/// Counts of what a cache has done since its creation.
public struct CacheStatistics: Sendable, Hashable {
    /// Responses that were served from the store while they were fresh.
    public var hits = 0
    /// Responses from the server, because none was stored or the stored one was not valid.
    public var misses = 0
    /// Stored responses that the server has confirmed as valid.
    public var revalidations = 0
    /// Stale responses that were served.
    public var staleHits = 0
    /// Requests that waited for the response to another one and were answered with it.
    public var collapsed = 0
    /// Responses that were stored.
    public var stores = 0
    /// Bytes of bodies that were served from the store.
    public var bytes: Int64 = 0

    mutating func count(_ status: CacheStatus, bytes served: Int64) {
        switch status {
        case .hit: hits += 1
        case .miss: misses += 1
        case .revalidated: revalidations += 1
        case .stale: staleHits += 1
        case .collapsed: collapsed += 1
        case .bypassed: break
        }
        bytes += served
    }
}

/// The latest invalidations. A response that was under way during an invalidation is not stored, and no later request
/// waits for it.
///
/// A request reads the mark when it is sent, which takes no lock before the first invalidation.
final class InvalidationLog: Sendable {
    enum Extent: Sendable {
        /// A URL in the form of `CacheKey.url`.
        case url(String)
        /// An origin in the form of `CacheKey.origin`.
        case origin(String)
        case everything

        func covers(_ url: String) -> Bool {
            switch self {
            case .url(let other): url == other
            case .origin(let origin): url.hasPrefix(origin)
            case .everything: true
            }
        }
    }

    private struct State: Sendable {
        var recent: [Extent] = []
        var total: UInt64 = 0

        mutating func append(_ extent: Extent) {
            if recent.count < InvalidationLog.length {
                recent.append(extent)
            } else {
                recent[Int(total % UInt64(recent.count))] = extent
            }
            total += 1
        }

        /// Whether an invalidation since `mark` covers the URL. True if that is too long ago to be known.
        func concern(_ url: String, since mark: UInt64) -> Bool {
            guard total - mark <= UInt64(InvalidationLog.length) else { return true }
            return (mark..<total).contains { recent[Int($0 % UInt64(InvalidationLog.length))].covers(url) }
        }
    }

    private let state = UsuallyEmptyLock(State(), isEmpty: { $0.total == 0 })

    /// The number of invalidations that are remembered.
    private static let length = 64

    /// The number of invalidations so far.
    var mark: UInt64 { state.isEmpty ? 0 : state.withLock { $0.total } }

    /// Records invalidations. Call it before responses are removed from the store, so that a response that is committed
    /// after the removal finds them.
    func note(_ extents: [Extent]) {
        state.withLock { state in
            for extent in extents { state.append(extent) }
        }
    }

    /// Whether responses of a URL have been invalidated since a mark.
    func concerns(_ url: String, since mark: UInt64) -> Bool {
        guard !state.isEmpty else { return false }
        return state.withLock { $0.concern(url, since: mark) }
    }
}
