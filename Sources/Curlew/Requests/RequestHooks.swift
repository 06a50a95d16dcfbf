public import CurlewCore
internal import CurlewLocks
public import Dispatch
internal import Foundation
public import FoundationNetworking

/// The observers of a request while it runs: closures that users have set, monitors, and streams of its values. A hook
/// for a created request, an exchange or the cURL command, and a stream, also gets the last value that exists already.
/// A hook for a head or an informational response gets only later ones.
struct RequestHooks {
    var monitorQueues: [MonitorQueue] = []
    var uploadProgress: ProgressReporter?
    var downloadProgress: ProgressReporter?
    var onRequestCreation: Hook<URLRequest>?
    var onTaskCreation: Hook<TaskIdentifier>?
    var onHead: HeadHook?
    var onInformational: InformationalHook?
    var onCURL: CURLHook?
    /// Streams of the request's values, which end with the request.
    var streams: [any MilestoneStream] = []
}

/// Asks for a decision about a response's head. The body waits for it.
typealias HeadHook =
    @Sendable (Request, LazyResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void

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

// MARK: - The creation of a request

extension Request {
    /// Sets a closure that is called with the final `URLRequest` of every attempt, immediately if there is one already.
    /// The last closure set is used.
    @discardableResult
    package func setRequestCreationHook(
        on queue: DispatchQueue,
        _ handler: @escaping @Sendable (URLRequest) -> Void
    ) -> Self {
        set(Hook(queue: queue, body: handler), at: \.onRequestCreation) { $0.history.lastFinalRequest }
    }

    /// Sets a closure that is called with the identifier of every exchange, immediately if there is one already. The
    /// last closure set is used.
    @discardableResult
    package func setTaskCreationHook(
        on queue: DispatchQueue,
        _ handler: @escaping @Sendable (TaskIdentifier) -> Void
    ) -> Self {
        set(Hook(queue: queue, body: handler), at: \.onTaskCreation) { $0.history.lastTask }
    }

    /// Stores a hook, and calls it with the last value if there is one.
    private func set<Value>(
        _ hook: Hook<Value>,
        at path: WritableKeyPath<RequestHooks, Hook<Value>?>,
        last: (RequestRecord) -> Value?
    ) -> Self {
        let (last, _) = record.withLock { record in
            (last(record), exchange(&record.ensureExtras().hooks[keyPath: path], with: hook))
        }
        if let last { hook.call(last) }
        return self
    }
}

extension Request {
    /// Reports the final `URLRequest` of an attempt that ends before its exchange begins.
    func reportCreation(of snapshot: RequestSnapshot, _ events: EventSink?) throws(CurlewError) {
        let (isCancelled, hooks) = record.withLock { record -> (Bool, RequestHooks?) in
            if record.lifecycle.isCancelled { return (true, nil) }
            return (false, record.recordCreation())
        }
        if isCancelled { throw cancellation }
        reportCreation(of: snapshot, to: hooks, events)
    }

    /// Reports a final `URLRequest` to monitors, and to the hooks that `recordCreation` has returned.
    func reportCreation(of snapshot: RequestSnapshot, to hooks: RequestHooks?, _ events: EventSink?) {
        if let events {
            let made = snapshot.urlRequest
            events.emit { [self] in $0.request(self, didCreateURLRequest: made) }
        }
        guard let hooks, hooks.onRequestCreation != nil || hooks.onCURL != nil || !hooks.streams.isEmpty else {
            return
        }
        let made = snapshot.urlRequest
        hooks.onRequestCreation?.call(made)
        hooks.onCURL?.call { cURLDescription(as: $0) }
        if hooks.streams.contains(where: { $0.wants(CURLCommand.self) }) {
            let command = CURLCommand(text: cURLDescription(as: .masked))
            for stream in hooks.streams { stream.send(command) }
        }
        for stream in hooks.streams { stream.send(made) }
    }

    /// Tells the cURL closure that there is no `URLRequest` to describe.
    func reportFailedCreation() {
        let hook = record.withLock { record in record.extras.flatMap { exchange(&$0.hooks.onCURL, with: nil) } }
        hook?.call { cURLDescription(as: $0) }
    }
}

extension RequestRecord {
    /// Records that the last request of the history is final. Returns the hooks to report it to, read under the same
    /// lock: a hook that is set later finds the final request in the history. The cURL closure is removed, because it
    /// is called once.
    mutating func recordCreation() -> RequestHooks? {
        history.lastAttempt.countWhenFinal = history.lastAttempt.snapshots.count
        defer { extras?.hooks.onCURL = nil }
        return extras?.hooks
    }
}

// MARK: - The head of a response

// Hooks that run when the head of a response has arrived and its body has not. The last hook set is called.
extension Request {
    /// Sets a closure that is called with the head of the response. The body waits until the closure has returned,
    /// and so do a stream's validations and a download's destination.
    @_disfavoredOverload
    @discardableResult
    public func onHTTPResponse(perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> Void) -> Self
    {
        setHeadDecision { response in
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
        setHeadDecision(handler)
        return self
    }
}

extension Request {
    /// Sets a closure that is called with the head on a queue.
    package func setHeadObserver(on queue: DispatchQueue, _ handler: @escaping @Sendable (HTTPURLResponse) -> Void) {
        let handoff = Handoff()
        // The body waits for this closure too: otherwise it could be delivered first, on another queue.
        setHeadHook(decidesAboutBody: false) { _, response, answer in
            handoff(to: queue) {
                if let foundationResponse = response.value { handler(foundationResponse) }
                answer(.allow)
            }
        }
    }

    /// Sets a closure that is called with the head on a queue, and decides about the body later.
    package func setHeadDecision(
        on queue: DispatchQueue,
        _ handler:
            @escaping @Sendable (HTTPURLResponse, @escaping @Sendable (ResponseDisposition) -> Void) -> Void
    ) {
        let handoff = Handoff()
        setHeadHook(decidesAboutBody: true) { _, response, answer in
            handoff(to: queue) {
                guard let foundationResponse = response.value else { return answer(.allow) }
                handler(foundationResponse, answer)
            }
        }
    }

    func setHeadDecision(_ handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition) {
        setHeadHook(decidesAboutBody: true) { Self.ask(for: $0, $1, handler, $2) }
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
        guard let foundationResponse = response.value else { return answer(.allow) }
        Task { answer(await UserCode.call(for: request) { await handler(foundationResponse) }) }
    }

    func setHeadHook(decidesAboutBody: Bool, _ hook: @escaping HeadHook) {
        // The former hook is released without the lock: a `deinit` of an object that it holds may use the request.
        _ = record.withLock { record in
            if decidesAboutBody { record.ensureExtras().options.asksAboutHead = true }
            return exchange(&record.ensureExtras().hooks.onHead, with: hook)
        }
    }
}

// MARK: - Informational responses

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
        _ = record.withLock { exchange(&$0.ensureExtras().hooks.onInformational, with: hook) }
        return self
    }
}

/// Calls a user's closure with informational responses: in order, one at a time, even on a concurrent queue.
final class InformationalHook: Sendable {
    private let delivery: CallbackDelivery
    private let perform: @Sendable (ResponseHead) -> Void
    /// The number of responses for which the closure has not returned.
    private let pending = Lock(0)

    init(_ queue: DispatchQueue, _ perform: @escaping @Sendable (ResponseHead) -> Void) {
        // A serial queue that runs on the user's.
        delivery = CallbackDelivery(queue: DispatchQueue(label: "curlew.informational-responses", target: queue))
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

// MARK: - Streams of milestones

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

    /// The heads of the responses of all attempts.
    package func heads(_ policy: StreamOf<HTTPURLResponse>.BufferingPolicy) -> StreamOf<HTTPURLResponse> {
        stream(policy, last: { $0.response }) { (response: LazyResponse) in response.value }
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
            let stream = MappedMilestoneStream(continuation: continuation, transform: transform)
            // Under the lock, so that the last value precedes all later ones.
            let hasEnded = record.withLock { record in
                if let last = last(record) { stream.send(last) }
                if record.lifecycle.result == nil { record.ensureExtras().hooks.streams.append(stream) }
                return record.lifecycle.result != nil
            }
            if hasEnded { continuation.finish() }
        }
    }
}

/// A stream of a request's milestones, with its types erased. It ends with the request.
protocol MilestoneStream: Sendable {
    /// Whether the stream yields elements made from values of this type.
    func wants(_ type: any Any.Type) -> Bool
    func send(_ value: any Sendable)
    func finish()
}

/// Receives the values of one type and yields the elements made from them.
struct MappedMilestoneStream<Sent: Sendable, Element: Sendable>: MilestoneStream {
    let continuation: AsyncStream<Element>.Continuation
    let transform: @Sendable (Sent) -> Element?

    func wants(_ type: any Any.Type) -> Bool { type == Sent.self }

    func send(_ value: any Sendable) {
        if let value = value as? Sent, let element = transform(value) { continuation.yield(element) }
    }

    func finish() { continuation.finish() }
}
