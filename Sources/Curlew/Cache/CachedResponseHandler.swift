public import CurlewCore

/// Decides about a response before it is stored.
///
/// The handler sees only responses that the rules of HTTP allow to be stored. The body is kept in memory until then, so
/// with a handler a response above 8 MiB is not stored. The request's own reader always gets the server's response.
public protocol CachedResponseHandler: Sendable {
    /// Returns the response to store, which may be another one; `nil` to store none.
    func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse?
}

/// A handler that stores every response, stores none, or stores what a closure makes of it.
public struct ResponseCacher: CachedResponseHandler {
    /// The decision of a `ResponseCacher` about a response.
    public enum Behavior: Sendable {
        /// Stores the response.
        case cache
        /// Does not store the response.
        case doNotCache
        /// Stores the result of the closure; `nil` stores nothing.
        case modify(@Sendable (TaskIdentifier, CachedResponse) -> CachedResponse?)
    }

    /// The behavior of this cacher.
    package let rule: Behavior

    /// Creates a cacher.
    public init(behavior: Behavior) { rule = behavior }

    /// Returns the response to store according to `behavior`.
    public func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse? {
        switch rule {
        case .cache: response
        case .doNotCache: nil
        case .modify(let change): change(task, response)
        }
    }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// Stores responses: `cacheResponse(using: .cache)`.
    public static var cache: ResponseCacher { ResponseCacher(behavior: .cache) }

    /// Stores no response: `cacheResponse(using: .doNotCache)`.
    public static var doNotCache: ResponseCacher { ResponseCacher(behavior: .doNotCache) }

    /// Stores the result of the closure; `nil` stores nothing.
    public static func modify(
        using closure: @escaping @Sendable (TaskIdentifier, CachedResponse) -> CachedResponse?
    ) -> ResponseCacher {
        ResponseCacher(behavior: .modify(closure))
    }
}
