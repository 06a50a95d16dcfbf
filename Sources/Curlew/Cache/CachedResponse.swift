public import CurlewCore
public import Foundation
public import FoundationNetworking

/// A response that is about to be stored, with its body.
public struct CachedResponse: Sendable {
    /// The kinds of stores that may keep a response.
    public enum StoragePolicy: Sendable, Hashable {
        /// The response may be stored in memory and on disk.
        case allowed
        /// Only a `MemoryCacheStore` may keep the response.
        case allowedInMemoryOnly
        /// The response is not stored.
        case notAllowed
    }

    /// The body.
    public let data: Data
    /// The kinds of stores that may keep the response.
    public let storagePolicy: StoragePolicy

    private let lazyResponse: LazyResponse

    /// The status and the header fields as Foundation's type; `nil` if Foundation cannot express them.
    public var response: HTTPURLResponse? { lazyResponse.value }
    /// The head as it is stored.
    public var head: ResponseHead { lazyResponse.head }

    /// Creates a response to be stored in place of another.
    public init(response: HTTPURLResponse, data: Data, storagePolicy: StoragePolicy = .allowed) {
        lazyResponse = LazyResponse(response)
        self.data = data
        self.storagePolicy = storagePolicy
    }

    /// Creates a response with the status and the fields of another's `response`, to be stored in its place. `nil` if
    /// `response` is `nil`.
    ///
    ///     .modify { _, cached in CachedResponse(response: cached.response, data: Data("{}".utf8)) }
    public init?(response: HTTPURLResponse?, data: Data, storagePolicy: StoragePolicy = .allowed) {
        guard let response else { return nil }
        self.init(response: response, data: data, storagePolicy: storagePolicy)
    }

    init(head: ResponseHead, url: URL, data: Data) {
        lazyResponse = LazyResponse(url: url, head: head)
        self.data = data
        storagePolicy = .allowed
    }

    func mayBeStored(inMemory: Bool) -> Bool {
        switch storagePolicy {
        case .allowed: true
        case .allowedInMemoryOnly: inMemory
        case .notAllowed: false
        }
    }

    /// The head and the body to store. A changed body loses `Content-Encoding`, and an existing `Content-Length` is
    /// corrected.
    func stored(insteadOf offered: CachedResponse) -> (head: ResponseHead, body: Data) {
        var head = head
        if head.reason.isEmpty { head.reason = offered.head.reason }
        if lazyResponse !== offered.lazyResponse { head.version = offered.head.version }
        if data != offered.data { head.describeNewBody(length: data.count) }
        return (head, data)
    }
}

/// Decides about a response before it is stored.
///
/// The handler sees only responses that the rules of HTTP allow to be stored. The body is kept in memory until then, so
/// with a handler a response above 8 MiB is not stored. The request's own reader always gets the server's response. The
/// total timeout cancels the handler's task, and nothing is stored then.
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
