public import CurlewCore
internal import CurlewLocks
public import Dispatch

extension Request {
    /// Sets a closure that is called with each informational response: 100 (Continue), 102 (Processing), and 103 (Early
    /// Hints), whose `Link` fields name what the page will need.
    ///
    ///     request.onInformationalResponse { head in
    ///         if head.status == 103 { preload(head.headers.values(for: "Link")) }
    ///     }
    ///
    /// The closure is called on `queue`, or else on the session's completion queue, one response after the other. The
    /// final head waits until it has returned: `onHTTPResponse`, `head()`, the body and the result come later. A
    /// redirect, a retry and a challenge can each bring informational responses of their own. The last closure set is
    /// used. With middleware, those of the reply that it returns arrive with that reply. A response from the cache has
    /// none, and the 101 of a WebSocket is its final response.
    @discardableResult
    public func onInformationalResponse(
        on queue: DispatchQueue? = nil,
        perform: @escaping @Sendable (ResponseHead) -> Void
    ) -> Self {
        let hook = InformationalHook(queue ?? context.handlerQueue, perform)
        // The former hook is released without the lock: a `deinit` of an object that it holds may use the request.
        _ = record.withLock { exchange(&$0.ownExtras.hooks.onInformational, with: hook) }
        return self
    }
}

/// Calls a user's closure with informational responses: in order, one at a time, even on a concurrent queue.
final class InformationalHook: Sendable {
    private let delivery: Delivery
    private let perform: @Sendable (ResponseHead) -> Void
    /// The number of responses for which the closure has not returned.
    private let pending = Lock(0)

    init(_ queue: DispatchQueue, _ perform: @escaping @Sendable (ResponseHead) -> Void) {
        // A serial queue that runs on the user's.
        delivery = Delivery(queue: DispatchQueue(label: "curlew.informational-responses", target: queue))
        self.perform = perform
    }

    /// Calls the closure with a response, after the earlier ones.
    func call(_ head: ResponseHead) {
        pending.withLock { $0 += 1 }
        delivery { [self] in
            perform(head)
            pending.withLock { $0 -= 1 }
        }
    }

    /// Returns what to ask about a final head: `ask`, once the closure has returned for the responses before that head.
    /// Returns `ask` itself if it has.
    func before(_ ask: HeadHook?) -> HeadHook? {
        guard pending.withLock({ $0 > 0 }) else { return ask }
        return { [delivery] request, response, answer in
            delivery { if let ask { ask(request, response, answer) } else { answer(.allow) } }
        }
    }
}
