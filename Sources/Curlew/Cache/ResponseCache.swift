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
