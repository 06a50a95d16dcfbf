internal import CurlewCore

/// What a cache has done since it was made.
public struct CacheStatistics: Sendable, Hashable {
    /// Responses that were stored and fresh.
    public var hits = 0
    /// Responses that came from the server because none was stored, or none that the server still holds for right.
    public var misses = 0
    /// Responses that were stored, and that the server has said are still right.
    public var revalidations = 0
    /// Stale responses that were served.
    public var staleHits = 0
    /// Requests that waited for the response to another one and got that.
    public var collapsed = 0
    /// Responses that were stored.
    public var stores = 0
    /// Bytes of bodies that were served from the store.
    public var bytes: Int64 = 0

    /// Creates statistics in which every count is zero.
    public init() {}

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
