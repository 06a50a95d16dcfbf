internal import CurlewLocks
package import Dispatch

// For callers that do not wait, in other modules of this package.
extension Session {
    /// The unfinished requests in the order of their creation: those that run, and those that have handlers and wait
    /// for `resume()`.
    package var unfinishedRequests: [Request] {
        Set(activeRequests).union(shelf.all).sorted { $0.serial < $1.serial }
    }

    /// Calls the closure asynchronously with all requests that have started and not ended.
    package nonisolated func passActiveRequests(to action: @escaping @Sendable (Set<Request>) -> Void) {
        Task { action(Set(await activeRequests)) }
    }

    /// Cancels the requests that exist at the time of the call, and calls the closure when all of them have ended.
    package nonisolated func cancelPresentRequests(
        completingOnQueue queue: DispatchQueue,
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
