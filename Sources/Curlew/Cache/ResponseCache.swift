public import CurlewCore
internal import CurlewLocks
public import Foundation

/// A cache of responses, as RFC 9111 describes it. Several sessions may share one.
///
///     let session = Session(configuration: SessionConfiguration { $0.cache = ResponseCache() })
///     let response = await session.request(url).response()
///     print(response.cacheStatus)   // Curlew; hit
///
/// It stores successful and other responses to `GET` that may be stored, while their bodies go to their readers, and serves
/// them while they are fresh. Later it asks the server whether they are still right, and keeps the body if they are.
public final class ResponseCache: Sendable {
    /// Where responses are kept.
    public let store: any CacheStore
    /// Whose responses they are.
    public let mode: CacheMode
    /// Whether of many requests for one response at the same time one is sent, and the others wait for it.
    public let collapsesRequests: Bool
    /// At most so many stored responses of a session are validated at a time after they were served stale; of more the
    /// server is not asked until they are wanted again.
    public let staleWhileRevalidateLimit: Int

    /// The present, for tests of time.
    let clock: @Sendable () -> Date
    private let counters = Lock(CacheStatistics())

    /// Makes a cache.
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
    }

    /// What it has done so far.
    public var statistics: CacheStatistics { counters.withLock { $0 } }

    /// Forgets every response.
    public func removeAll() async { await store.removeAll() }

    /// Forgets the responses to requests for a URL, whatever their fields and credentials were.
    public func remove(for url: URL) async { await store.removeAll(url: CacheKey.text(of: url)) }

    func count(_ status: CacheStatus, bytes: Int64 = 0) { counters.withLock { $0.count(status, bytes: bytes) } }

    func countStore() { counters.withLock { $0.stores += 1 } }

    /// What one response has made out of date.
    func invalidate(_ invalidation: Invalidation) async {
        switch invalidation {
        case .none: break
        case .urls(let urls): for url in urls { await store.removeAll(url: url) }
        case .origin(let origin): await store.removeAll(origin: origin)
        }
    }
}
