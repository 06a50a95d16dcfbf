package import Foundation

/// A request's use of the cache.
public enum CachePolicy: Sendable, Hashable {
    /// Follow HTTP: serve fresh responses, validate stale ones.
    case useProtocol
    /// Ask the server, whatever is stored. Its response replaces the stored one.
    case reload
    /// Ask the server whether the stored response is still valid. A fresh response marked `immutable` is served without
    /// asking.
    case revalidate
    /// Serve a stored response of any age. Ask the server only if none is stored.
    case preferStored
    /// Serve a stored response of any age. Fail with `.notInCache` if none is stored.
    case onlyStored
}

/// The kind of a cache: for one user or for several (RFC 9111, 3).
public enum CacheMode: Sendable, Hashable {
    /// A cache for one user. It stores responses marked `private`, and serves a response to a request with credentials
    /// only to requests with equal credentials.
    case `private`
    /// A cache for several users. It stores no `private` responses, and a response to a request with credentials only
    /// if the response allows it.
    case shared
}

/// The cache's part in a response.
public enum CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// The response was stored and fresh.
    case hit
    /// The response is the server's.
    case miss
    /// The response was stored, and the server has confirmed it.
    case revalidated
    /// The response was stored and stale, and was served nevertheless.
    case stale(StaleReason)
    /// The response is the server's response to an identical request that was already in flight.
    case collapsed
    /// The response is the server's; the cache was not consulted.
    case bypassed(BypassReason)

    /// The reason why a stale response was served.
    public enum StaleReason: String, Sendable, Hashable {
        /// `stale-while-revalidate`: the response is being revalidated in the background.
        case whileRevalidate = "stale-while-revalidate"
        /// `stale-if-error`: the server failed.
        case ifError = "stale-if-error"
        /// The request allows it by `max-stale`.
        case maxStale = "max-stale"
        /// The request's policy prefers stored responses of any age.
        case policy
    }

    /// The reason why the cache was not consulted.
    public enum BypassReason: String, Sendable, Hashable {
        /// Responses to this method are not stored.
        case method
        /// The policy is `.reload`.
        case reload
        /// The request has `no-store`.
        case noStore = "no-store"
        /// The request has a range or a condition that the stored response cannot satisfy.
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

/// The caching options of one request that differ from those of its session.
package struct CacheOverrides: Sendable {
    /// Examines a response before it is stored, in the rest of the total timeout. The result is stored in its place;
    /// `nil` prevents storing.
    package typealias Review =
        @Sendable (_ request: TransferRequest, _ head: ResponseHead, _ body: Data, _ budget: TimeoutBudget) async -> (
            head: ResponseHead, body: Data
        )?

    package var policy: CachePolicy
    package var review: Review?
    /// Whether a response that is too large for `review` must not be stored.
    package var mustReview = false

    package init(policy: CachePolicy = .useProtocol) { self.policy = policy }
}
