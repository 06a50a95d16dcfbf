public import CurlewCore
internal import CurlewLocks
public import Dispatch
internal import Foundation
public import FoundationNetworking

/// A curl command. A separate type, because a stream chooses its values by their type.
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

    /// Asks an `async` closure about a head.
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
    /// answer, and so do a stream's validations and a download's destination. It is not called for a part (206) that
    /// nobody asked for, which fails the request.
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
        stream(policy, last: { $0.history.lastFinalRequest }) { $0 }
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
                record.history.lastFinalRequest.map { _ in CURLCommand(text: self.cURLDescription(of: record)) }
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
            // Under the lock, so that the last value precedes all later ones.
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
    /// redirect, a retry and a challenge can each bring more informational responses. The last closure set is used.
    /// With middleware, those of the reply that it returns arrive with that reply. A response from the cache has none,
    /// and the 101 of a WebSocket is its final response.
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

    /// Returns a hook that calls `ask` after the closure has returned for all earlier responses. Returns `ask` itself
    /// if it already has.
    func before(_ ask: HeadHook?) -> HeadHook? {
        guard pending.withLock({ $0 > 0 }) else { return ask }
        return { [delivery] request, response, answer in
            delivery { if let ask { ask(request, response, answer) } else { answer(.allow) } }
        }
    }
}

/// The state of response handlers: all serializers run in order, then all completions in order.
struct HandlerQueue {
    /// Serializes the result, and returns the completion to call.
    typealias Serializer = @Sendable (RunResult) -> Serialized

    struct Serialized: Sendable {
        /// The failure to serialize, which retriers are asked about.
        var error: CurlewError?
        /// Calls the completion. An error in its parameter replaces the serializer's result.
        var complete: @Sendable (CurlewError?) -> Void
    }

    private var serializers: [Serializer] = []
    private var next = 0

    var isEmpty: Bool { serializers.isEmpty }

    mutating func add(_ serializer: @escaping Serializer) { serializers.append(serializer) }

    mutating func nextSerializer() -> Serializer? {
        guard next < serializers.count else { return nil }
        defer { next += 1 }
        return serializers[next]
    }

    /// Called before another attempt: every serializer runs again.
    mutating func startOver() { next = 0 }
}

extension Request {
    /// Adds a handler. The first one starts the request, unless the session or the request says otherwise.
    func add(_ serializer: @escaping HandlerQueue.Serializer) {
        let (action, task) = record.withLock { record in
            (record.add(serializer, startsImmediately: startsImmediately), record.reportedTask)
        }
        switch action {
        case .none: break
        case .resume(let resumption): finishResuming(resumption, reporting: task)
        case .shelve: shelve()
        case .startHandlers: HandlerRun.start(self, drives: false)
        }
    }

    /// Adds a handler that gets the value made from the result by `make`. Unless it serializes, its failure is not
    /// reported to retriers.
    func addHandler<Own: Request, Response: HandledResponse>(
        _ delivery: Delivery,
        serializes: Bool = true,
        _ completion: @escaping @Sendable (Response) -> Void,
        announce: @escaping @Sendable (any EventMonitor, Own, Response) -> Void,
        make: @escaping @Sendable (RunResult) throws -> Response.Value
    ) {
        add { [weak self] result in
            let started = serializes ? ContinuousClock.now : nil
            let made: Result<Response.Value, CurlewError>
            var failure: CurlewError?
            do {
                made = .success(try make(result))
            } catch {
                let error = ErrorWrapping.serialization(error).located(in: result)
                made = .failure(error)
                failure = serializes ? error : nil
            }
            let duration = started.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0
            let response = Response(of: result, serializationDuration: duration, result: made)
            if let events = self?.eventSink, let own = self as? Own { events.emit { announce($0, own, response) } }
            return HandlerQueue.Serialized(error: failure) { replacement in
                let final = replacement.map { response.failing(with: $0) } ?? response
                delivery { completion(final) }
            }
        }
    }
}

/// The delivery of a completion: on a user's queue, or immediately for Curlew's own handles.
package struct Delivery: Sendable {
    private let queue: DispatchQueue?
    private let handoff: Handoff?
    /// Entered at the creation, and left after the completion.
    private var group: DispatchGroup?

    package static let direct = Delivery()

    private init() {
        queue = nil
        handoff = nil
    }

    init(queue: DispatchQueue) {
        self.queue = queue
        handoff = Handoff()
    }

    /// Creates the delivery for one completion of a request. Without a queue, the session's is used.
    init(queue: DispatchQueue?, of request: Request) {
        self.init(queue: queue ?? request.context.handlerQueue)
        group = request.context.configuration.handlerGroup
        group?.enter()
    }

    /// The delivery for values that precede the completion: it does not leave the group.
    var ofMany: Delivery {
        var copy = self
        copy.group = nil
        return copy
    }

    func callAsFunction(_ work: @escaping @Sendable () -> Void) {
        guard let queue, let handoff else { return work() }
        guard let group else { return handoff(to: queue, work) }
        handoff(to: queue) {
            work()
            group.leave()
        }
    }
}
