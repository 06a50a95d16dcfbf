public import CurlewCore

/// Decides about a response before it is stored.
///
/// Write one of the two forms; Curlew calls the `async` one. The rules of HTTP come first: what they do not allow to be
/// stored is not shown. The body lies in memory meanwhile, so a response above 8 MiB is not stored where there is a handler.
/// The request's own reader gets what the server sent, whatever is stored.
public protocol CachedResponseHandler: Sendable {
    /// Answers what to store, the response itself or another, or nil for nothing.
    func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse?

    /// The same in Alamofire's form: the closure is called with what to store, or nil.
    func dataTask(
        _ task: TaskIdentifier,
        willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void
    )
}

extension CachedResponseHandler {
    /// Calls the form with a completion handler. Implement one of the two.
    public func dataTask(
        _ task: TaskIdentifier,
        willCacheResponse response: CachedResponse
    ) async -> CachedResponse? {
        await CompletionBridge.answer(orIfCancelled: nil) {
            self.dataTask(task, willCacheResponse: response, completion: $0)
        }
    }

    /// Stores the response as it is.
    public func dataTask(
        _ task: TaskIdentifier,
        willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void
    ) {
        completion(response)
    }
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
        decision(task, response)
    }

    /// Does what `behavior` says, in Alamofire's form.
    public func dataTask(
        _ task: TaskIdentifier,
        willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void
    ) {
        completion(decision(task, response))
    }

    private func decision(_ task: TaskIdentifier, _ response: CachedResponse) -> CachedResponse? {
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
