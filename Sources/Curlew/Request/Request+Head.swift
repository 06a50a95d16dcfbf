internal import CurlewLocks
package import Dispatch
internal import Foundation
public import FoundationNetworking

// Hooks that run when the head of a response has arrived and its body has not. The last hook set is called.
extension Request {
    package func tellHead(on queue: DispatchQueue, _ handler: @escaping @Sendable (HTTPURLResponse) -> Void) {
        let handoff = Handoff()
        // The body waits for this closure too: otherwise it could be delivered first, on another queue.
        setHeadHook(decidesFate: false) { _, response, answer in
            handoff(to: queue) {
                if let lifted = response.value { handler(lifted) }
                answer(.allow)
            }
        }
    }

    package func askHead(
        on queue: DispatchQueue,
        _ handler:
            @escaping @Sendable (HTTPURLResponse, @escaping @Sendable (ResponseDisposition) -> Void) -> Void
    ) {
        let handoff = Handoff()
        setHeadHook(decidesFate: true) { _, response, answer in
            handoff(to: queue) {
                guard let lifted = response.value else { return answer(.allow) }
                handler(lifted, answer)
            }
        }
    }

    func askHead(_ handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition) {
        setHeadHook(decidesFate: true) { ConcurrencyHandle.ask(for: $0, $1, handler, $2) }
    }

    /// The session's hook, for requests without one.
    var sessionHeadHook: HeadHook? {
        guard let ask = context.configuration.decisions?.responseDisposition else { return nil }
        return { request, response, answer in
            ConcurrencyHandle.ask(for: request, response, { await ask(request, $0) }, answer)
        }
    }

    func setHeadHook(decidesFate: Bool, _ hook: @escaping HeadHook) {
        // The former hook is released without the lock: a `deinit` of an object that it holds may use the request.
        _ = record.withLock { record in
            if decidesFate { record.ownExtras.options.asksAboutHead = true }
            return exchange(&record.ownExtras.hooks.onHead, with: hook)
        }
    }

    /// The heads of the responses of all attempts.
    package func heads(_ policy: StreamOf<HTTPURLResponse>.BufferingPolicy) -> StreamOf<HTTPURLResponse> {
        stream(policy, last: { $0.response }) { (response: LazyResponse) in response.value }
    }
}

extension Request {
    /// Sets a closure that is called with the head of the response. The body waits until the closure has returned.
    @_disfavoredOverload
    @discardableResult
    public func onHTTPResponse(perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> Void) -> Self
    {
        askHead { response in
            await handler(response)
            return .allow
        }
        return self
    }

    /// Sets a closure that decides from the head of the response whether to receive the body. The body waits for the
    /// answer.
    @_disfavoredOverload
    @discardableResult
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> ResponseDisposition
    ) -> Self {
        askHead(handler)
        return self
    }
}
