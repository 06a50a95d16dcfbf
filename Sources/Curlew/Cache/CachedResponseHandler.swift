public import CurlewCore

/// Decides about a response before it is stored.
///
/// The handler sees only responses that the rules of HTTP allow to be stored. A body is kept in memory meanwhile, so with a
/// handler a response above 8 MiB is not stored. The request's own reader gets what the server sent, whatever is stored.
public protocol CachedResponseHandler: Sendable {
    /// Returns the response to store, the given one or another, or nil to store none.
    func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse?
}

/// A handler that stores every response, stores none, or stores what a closure makes of it.
public struct ResponseCacher: CachedResponseHandler {
    /// What a `ResponseCacher` does with a response.
    public enum Behavior: Sendable {
        /// Stores it.
        case cache
        /// Does not store it.
        case doNotCache
        /// Stores what the closure answers; nil stores nothing.
        case modify(@Sendable (TaskIdentifier, CachedResponse) -> CachedResponse?)
    }

    /// A cacher that stores.
    public static let cache = ResponseCacher(behavior: .cache)
    /// A cacher that does not store.
    public static let doNotCache = ResponseCacher(behavior: .doNotCache)

    /// What this cacher does.
    public let behavior: Behavior

    /// Creates a cacher.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Does what `behavior` says.
    public func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse? {
        switch behavior {
        case .cache: response
        case .doNotCache: nil
        case .modify(let change): change(task, response)
        }
    }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// Stores responses: `cacheResponse(using: .cache)`.
    public static var cache: ResponseCacher { ResponseCacher(behavior: .cache) }

    /// Stores none: `cacheResponse(using: .doNotCache)`.
    public static var doNotCache: ResponseCacher { ResponseCacher(behavior: .doNotCache) }

    /// Stores what the closure answers; nil stores nothing.
    public static func modify(
        using closure: @escaping @Sendable (TaskIdentifier, CachedResponse) -> CachedResponse?
    ) -> ResponseCacher {
        ResponseCacher(behavior: .modify(closure))
    }
}
