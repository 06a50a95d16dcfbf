public import Curlew

/// Decides about a response before it is stored, in Alamofire's form.
///
/// Implement one of the two forms. Curlew calls the `async` form. Its default calls the form with a completion handler,
/// whose default stores the response.
public protocol CachedResponseHandler: Curlew.CachedResponseHandler {
    /// Passes the response to store to a completion handler, or `nil` to store none.
    func dataTask(
        _ task: TaskIdentifier,
        willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void
    )
}

extension CachedResponseHandler {
    /// Calls the form with a completion handler.
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

extension ResponseCacher: CachedResponseHandler {
    /// The action that it takes.
    public var behavior: Behavior { rule }

    /// Applies `behavior` to the response.
    public func dataTask(
        _ task: TaskIdentifier,
        willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void
    ) {
        switch behavior {
        case .cache: completion(response)
        case .doNotCache: completion(nil)
        case .modify(let change): completion(change(task, response))
        }
    }
}
