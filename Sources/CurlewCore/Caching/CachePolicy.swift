/// The use that a request makes of the cache.
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
