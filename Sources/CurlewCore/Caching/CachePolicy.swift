/// How a request uses the cache.
public enum CachePolicy: Sendable, Hashable {
    /// As HTTP says: what is fresh is served, what is stale is validated.
    case useProtocol
    /// The server is asked, whatever is stored, and its response replaces that.
    case reload
    /// The server is asked whether what is stored is still right. What is fresh and `immutable` is served.
    case revalidate
    /// What is stored is served at any age; the server is asked where nothing is stored.
    case preferStored
    /// What is stored is served at any age; where nothing is stored the request fails with `.notInCache`.
    case onlyStored
}
