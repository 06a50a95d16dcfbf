public import Dispatch

// Alamofire's forms for callers that do not wait.
extension Session {
    /// Calls the closure, later and elsewhere, with everything whose run has started and not ended.
    public nonisolated func withAllRequests(perform action: @escaping @Sendable (Set<Request>) -> Void) {
        Task { action(Set(await activeRequests)) }
    }

    /// Cancels every request that there is now, and calls the closure when all of them have ended.
    ///
    /// The closure has no default: top-level code would take a call without arguments for this form, and not wait.
    public nonisolated func cancelAllRequests(
        completingOnQueue queue: DispatchQueue = .main,
        completion: @escaping @Sendable () -> Void
    ) {
        // What is made after this line is not meant.
        let serial = context.lastSerial
        let delivery = Delivery(queue: queue)
        Task {
            // The caller's code does not wait for this task: also the request whose code it is has to end.
            await UserCode.outside { await cancelRequests(upTo: serial) }
            delivery(completion)
        }
    }
}
