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
    /// used. A response from the cache has none, and the 101 of a WebSocket is its final response.
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
    private struct State {
        /// The responses that the closure has not been called with.
        var heads: ArraySlice<ResponseHead> = []
        /// Whether work on the queue calls the closure, or is about to.
        var isCalling = false
        /// Called when the closure has returned for every response so far.
        var next: (@Sendable () -> Void)?
    }

    private let delivery: Delivery
    private let perform: @Sendable (ResponseHead) -> Void
    private let state = Lock(State())

    init(_ queue: DispatchQueue, _ perform: @escaping @Sendable (ResponseHead) -> Void) {
        delivery = Delivery(queue: queue)
        self.perform = perform
    }

    /// Calls the closure with a response, after the earlier ones.
    func call(_ head: ResponseHead) {
        let isFirst = state.withLock { state in
            state.heads.append(head)
            return !exchange(&state.isCalling, with: true)
        }
        guard isFirst else { return }
        delivery { [self] in
            while let head = nextHead() { perform(head) }
        }
    }

    /// Returns the next response. If there is none, whoever waits for the closure goes on.
    private func nextHead() -> ResponseHead? {
        let (head, next) = state.withLock { state -> (ResponseHead?, (@Sendable () -> Void)?) in
            if let head = state.heads.popFirst() { return (head, nil) }
            state.isCalling = false
            return (nil, exchange(&state.next, with: nil))
        }
        next?()
        return head
    }

    /// Returns what to ask about a final head: `ask`, once the closure has returned for the responses before that head.
    /// Returns `ask` itself if it has.
    func before(_ ask: HeadHook?) -> HeadHook? {
        guard state.withLock({ $0.isCalling }) else { return ask }
        return { [self] request, response, answer in
            afterCalls { if let ask { ask(request, response, answer) } else { answer(.allow) } }
        }
    }

    private func afterCalls(_ next: @escaping @Sendable () -> Void) {
        // That of an exchange which has ended meanwhile is released without the lock: it may hold a user's object.
        let (isCalling, _) = state.withLock { state in
            (state.isCalling, state.isCalling ? exchange(&state.next, with: next) : nil)
        }
        if !isCalling { next() }
    }
}
