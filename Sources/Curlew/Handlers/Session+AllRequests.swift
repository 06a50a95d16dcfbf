public import Dispatch

// Alamofire's functions for callers that do not wait.
extension Session {
    /// Calls the closure asynchronously with all requests that have started and not ended.
    public nonisolated func withAllRequests(perform action: @escaping @Sendable (Set<Request>) -> Void) {
        Task { action(Set(await activeRequests)) }
    }

    /// Cancels the requests that exist at the time of the call, and calls the closure when all of them have ended.
    ///
    /// The closure has no default: otherwise a call without arguments in top-level code would use this function, and
    /// not wait.
    public nonisolated func cancelAllRequests(
        completingOnQueue queue: DispatchQueue = .main,
        completion: @escaping @Sendable () -> Void
    ) {
        // Requests that are created after this line are not cancelled.
        let serial = context.lastSerial
        let delivery = Delivery(queue: queue)
        Task {
            // The caller does not wait for this task, so the wait may include the request whose code has called.
            await UserCode.outside { await cancelRequests(upTo: serial) }
            delivery(completion)
        }
    }
}
