internal import CurlewCore

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
