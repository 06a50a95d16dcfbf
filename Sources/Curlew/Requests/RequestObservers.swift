internal import CurlewCore
internal import CurlewLocks
package import Dispatch
internal import Foundation
public import FoundationNetworking

/// A request as a curl command. A type that distinguishes it from other strings.
struct CURLCommand: Sendable {
    let text: String
}

/// A closure that receives the request's curl command in one form.
struct CURLHook: Sendable {
    let hook: Hook<String>
    let form: CURLForm

    func call(_ describe: (CURLForm) -> String) { hook.call(describe(form)) }
}

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
        setHeadHook(decidesFate: true) { Self.ask(for: $0, $1, handler, $2) }
    }

    /// The session's hook, for requests without one.
    var sessionHeadHook: HeadHook? {
        guard let ask = context.configuration.decisions?.responseDisposition else { return nil }
        return { request, response, answer in
            Self.ask(for: request, response, { await ask(request, $0) }, answer)
        }
    }

    /// Asks an `async` closure about a head. The task ends with its decision.
    private static func ask(
        for request: Request,
        _ response: LazyResponse,
        _ handler: @escaping @Sendable (HTTPURLResponse) async -> Request.ResponseDisposition,
        _ answer: @escaping @Sendable (Request.ResponseDisposition) -> Void
    ) {
        guard let lifted = response.value else { return answer(.allow) }
        Task { answer(await UserCode.call(for: request) { await handler(lifted) }) }
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
    /// Sets a closure that is called with the head of the response. The body waits until the closure has returned,
    /// and so do a stream's validations and a download's destination.
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
    /// answer, and so do a stream's validations and a download's destination.
    @_disfavoredOverload
    @discardableResult
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> ResponseDisposition
    ) -> Self {
        askHead(handler)
        return self
    }
}

// The request's milestones as streams, which end with the request. The request does not wait for their readers: values
// that exceed the buffer are dropped.
extension Request {
    /// The final `URLRequest`s of all attempts.
    package func createdRequests(_ policy: StreamOf<URLRequest>.BufferingPolicy) -> StreamOf<URLRequest> {
        stream(policy, last: { $0.history.toldRequest }) { $0 }
    }

    /// The identifiers of all exchanges.
    package func createdTasks(_ policy: StreamOf<TaskIdentifier>.BufferingPolicy) -> StreamOf<TaskIdentifier> {
        stream(policy, last: { $0.history.lastTask }) { $0 }
    }

    /// The cURL commands of all attempts.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .bufferingNewest(100)
    ) -> StreamOf<String> {
        stream(
            bufferingPolicy,
            last: { record in
                record.history.toldRequest.map { _ in CURLCommand(text: self.cURLDescription(of: record)) }
            }
        ) { (command: CURLCommand) in command.text }
    }

    /// Returns a stream of the values of one type that the request sends. `last` returns the latest earlier value; it
    /// must not take the request's locks.
    func stream<Sent: Sendable, Element: Sendable>(
        _ policy: StreamOf<Element>.BufferingPolicy,
        last: (RequestRecord) -> Sent?,
        _ transform: @escaping @Sendable (Sent) -> Element?
    ) -> StreamOf<Element> {
        StreamOf(bufferingPolicy: policy) { continuation in
            let stream = MappedRequestStream(continuation: continuation, transform: transform)
            // Under the lock: the last value was sent before, all later ones follow, and the order is kept.
            let hasEnded = record.withLock { record in
                if let last = last(record) { stream.send(last) }
                if record.lifecycle.result == nil { record.ownExtras.hooks.streams.append(stream) }
                return record.lifecycle.result != nil
            }
            if hasEnded { continuation.finish() }
        }
    }
}

/// A user's closure and the queue to call it on.
struct Hook<Value: Sendable>: Sendable {
    let queue: DispatchQueue
    let body: @Sendable (Value) -> Void
    let handoff = Handoff()

    func call(_ value: Value) {
        let body = body
        handoff(to: queue) { body(value) }
    }
}

/// Asks for a decision about a response's head. The body waits for it.
typealias HeadHook =
    @Sendable (Request, LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
