public import Curlew
public import Dispatch

// Alamofire's functions for callers that do not wait.
extension Session {
    /// Calls the closure asynchronously with all requests that have started and not ended.
    public nonisolated func withAllRequests(perform action: @escaping @Sendable (Set<Request>) -> Void) {
        passActiveRequests(to: action)
    }

    /// Cancels the requests that exist at the time of the call, and calls the closure when all of them have ended.
    ///
    /// The closure has no default: otherwise a call without arguments in top-level code would use this function, and
    /// not wait.
    public nonisolated func cancelAllRequests(
        completingOnQueue queue: DispatchQueue = .main,
        completion: @escaping @Sendable () -> Void
    ) {
        cancelPresentRequests(completingOnQueue: queue, completion: completion)
    }
}
