/// The kind of a cache: for one user or for several (RFC 9111, 3).
public enum CacheMode: Sendable, Hashable {
    /// A cache for one user. It stores responses marked `private`, and serves a response to a request with credentials
    /// only to requests with equal credentials.
    case `private`
    /// A cache for several users. It stores no `private` responses, and a response to a request with credentials only
    /// if the response allows it.
    case shared
}
