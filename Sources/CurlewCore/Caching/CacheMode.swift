/// Whose responses a cache keeps (RFC 9111, 3).
public enum CacheMode: Sendable, Hashable {
    /// Those of one user. Responses marked `private` are stored, and responses to requests with credentials are kept for
    /// the same credentials.
    case `private`
    /// Those of several users: neither `private` responses nor, unless they say that they may be, responses to requests
    /// with `Authorization`.
    case shared
}
