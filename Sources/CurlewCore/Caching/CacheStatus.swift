/// What the cache had to do with a response.
///
/// `description` is the value of a `Cache-Status` field (RFC 9211): `Curlew; hit`.
public enum CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// It was stored and fresh.
    case hit
    /// It came from the server.
    case miss
    /// It was stored, and the server has said that it is still right.
    case revalidated
    /// It was stored, its time is over, and it was served all the same.
    case stale(StaleReason)
    /// It came from the server for another request, at the same time.
    case collapsed
    /// It came from the server, and the cache was not asked.
    case bypassed(BypassReason)

    /// Why a stale response was served.
    public enum StaleReason: String, Sendable, Hashable {
        /// `stale-while-revalidate`: the server is being asked meanwhile.
        case whileRevalidate = "stale-while-revalidate"
        /// `stale-if-error`: the server could not answer.
        case ifError = "stale-if-error"
        /// The request allows it by `max-stale`.
        case maxStale = "max-stale"
        /// The request's policy is to take what is stored.
        case policy
    }

    /// Why the cache was not asked.
    public enum BypassReason: String, Sendable, Hashable {
        /// Responses to this method are not stored.
        case method
        /// The policy is `.reload`.
        case reload
        /// The request has `no-store`.
        case noStore = "no-store"
        /// The request asks for a part, or under a condition, that what is stored cannot answer.
        case condition
    }

    public var description: String {
        switch self {
        case .hit: "Curlew; hit"
        case .miss: "Curlew; fwd=miss"
        case .revalidated: "Curlew; fwd=stale; fwd-status=304"
        case .stale(let reason): "Curlew; hit; detail=\(reason.rawValue)"
        case .collapsed: "Curlew; fwd=miss; collapsed"
        case .bypassed(.method): "Curlew; fwd=method"
        case .bypassed(.reload): "Curlew; fwd=request; detail=reload"
        case .bypassed(.noStore): "Curlew; fwd=request; detail=no-store"
        case .bypassed(.condition): "Curlew; fwd=bypass; detail=condition"
        }
    }
}
