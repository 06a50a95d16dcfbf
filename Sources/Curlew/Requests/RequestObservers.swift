internal import CurlewCore
internal import CurlewLocks
package import Dispatch
public import Foundation
public import FoundationNetworking

// The moments of an attempt that users can observe.
extension Request {
    /// Reports the final `URLRequest` of an attempt, before its exchange begins.
    func created(_ visible: RequestSnapshot, isNoted: Bool, _ events: EventSink?) throws(CurlewError) {
        let creation = record.withLock { $0.isCancelled ? nil : $0.created(visible, isNoted: isNoted) }
        guard let creation else { throw cancellation }
        tell(creation, of: visible, events)
    }

    private func tell(_ creation: RequestRecord.Creation, of visible: RequestSnapshot, _ events: EventSink?) {
        if let events {
            let made = visible.urlRequest
            events.emit { [self] in $0.request(self, didCreateURLRequest: made) }
        }
        creation.hooks?.call(visible.urlRequest) { cURLDescription(as: $0) }
    }

    /// Adds a request to the history, for adapters, monitors and users to see.
    func note(_ visible: RequestSnapshot) { record.withLock { $0.history.note(visible) } }

    /// Adds the target of a redirect to the history, and with it what the transport sends besides the `URLRequest`.
    func note(redirect visible: RequestSnapshot, as next: TransferRequest, sendsSameBody: Bool) {
        record.withLock { record in
            let former = record.history.redirected
            let parts = RedirectedParts(next, sendsSameBody: sendsSameBody, after: former)
            record.history.note(visible, redirected: parts)
        }
    }

    /// Starts an exchange that has waited. Returns `false` if the request is suspended.
    func starts(_ exchange: Lock<ExchangeState>) throws(CurlewError) -> Bool {
        let (isCancelled, isHeld) = record.withLock { record in
            let lifecycle = record.lifecycle
            if !lifecycle.isCancelled, !lifecycle.holdsDriver { exchange.withLock { $0.stage = .running } }
            return (lifecycle.isCancelled, lifecycle.holdsDriver)
        }
        if isCancelled { throw cancellation }
        return !isHeld
    }

    /// Tells the cURL closure that there is no `URLRequest` to describe.
    func creationFailed() {
        let hook = record.withLock { record in record.extras.flatMap { exchange(&$0.hooks.onCURL, with: nil) } }
        hook?.call { cURLDescription(as: $0) }
    }

    /// Begins an exchange. In the stage `waiting`, it has yet to be started, when the request is no longer suspended.
    /// Returns `nil`, and begins none, if the request was cancelled. One step under the lock.
    ///
    /// With `readsOptions`, it waits in any case, if only for a moment: the options and the total timeout were read
    /// before the result was asked for, and are read again after the wait.
    func begins(
        _ next: OutgoingRequest,
        as task: TaskIdentifier,
        readsOptions: Bool,
        _ events: EventSink?
    ) -> Lock<ExchangeState>? {
        let (creation, beginning) = record.withLock { $0.begins(next, as: task, readsOptions: readsOptions) }
        if let creation { tell(creation, of: next.visible, events) }
        guard let beginning else { return nil }
        if !beginning.isRepeated { tell(beginning, of: task, events) }
        return beginning.exchange
    }

    private func tell(_ beginning: RequestRecord.Beginning, of task: TaskIdentifier, _ events: EventSink?) {
        events?.emit { [self] in $0.request(self, didCreateTask: task) }
        if beginning.isSuspended { emitChange(of: task, to: .suspended, events) }
        beginning.hook?.call(task)
        for stream in beginning.streams { stream.send(task) }
    }
}

extension RequestRecord {
    /// The observers of a request that has been created.
    struct Creation {
        fileprivate let hooks: CreationHooks?
    }

    /// The observers of an exchange that begins.
    struct Beginning {
        let exchange: Lock<ExchangeState>
        /// Whether the exchange repeats one that monitors know of.
        let isRepeated: Bool
        let hook: Hook<TaskIdentifier>?
        let streams: [any RequestStream]
        let isSuspended: Bool
        /// The exchange that this one replaces. Released without the lock: its control may belong to a user's transport.
        fileprivate let former: Lock<ExchangeState>?
    }

    // The observers are read in the same step: one that is added later finds the request in the history.
    fileprivate mutating func created(_ visible: RequestSnapshot, isNoted: Bool) -> Creation {
        if !isNoted { history.note(visible) }
        history.attempt.announcedCount = history.attempt.visibleRequests.count
        return Creation(hooks: extras?.hooks.takeForCreation())
    }

    fileprivate mutating func begins(
        _ next: OutgoingRequest,
        as task: TaskIdentifier,
        readsOptions: Bool
    ) -> (Creation?, Beginning?) {
        let isRepeated = if case .started = next.announcement { true } else { false }
        guard isRepeated || !isCancelled else { return (nil, nil) }
        var creation: Creation?
        if case .described(let isNoted) = next.announcement { creation = created(next.visible, isNoted: isNoted) }
        if !isRepeated { history.attempt.identifiers.append(task) }
        let waits = isRepeated || lifecycle.holdsDriver || readsOptions
        let began = Lock(making: { [upload] in
            ExchangeState(task, waits ? .waiting : .running, isRepeated: isRepeated, uploaded: upload)
        })
        let beginning = Beginning(
            exchange: began,
            isRepeated: isRepeated,
            hook: extras?.hooks.onTaskCreation,
            streams: extras?.hooks.streams ?? [],
            isSuspended: state == .suspended,
            former: Swift.exchange(&exchange, with: began)
        )
        return (creation, beginning)
    }
}

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

/// The observers of a final `URLRequest`.
fileprivate struct CreationHooks {
    let onRequest: Hook<URLRequest>?
    let onCURL: CURLHook?
    let streams: [any RequestStream]

    func call(_ request: URLRequest, _ describe: (CURLForm) -> String) {
        onRequest?.call(request)
        onCURL?.call(describe)
        if streams.contains(where: { $0.wants(CURLCommand.self) }) {
            let command = CURLCommand(text: describe(.masked))
            for stream in streams { stream.send(command) }
        }
        for stream in streams { stream.send(request) }
    }
}

extension RequestHooks {
    /// Returns the observers, or `nil` if there are none. Removes the cURL closure, which is called once.
    fileprivate mutating func takeForCreation() -> CreationHooks? {
        if case .none = onRequestCreation, case .none = onCURL, streams.isEmpty { return nil }
        return CreationHooks(onRequest: onRequestCreation, onCURL: exchange(&onCURL, with: nil), streams: streams)
    }
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

// The request's progress and milestones as streams, which end with the request. The request does not wait for their
// readers: values that exceed the buffer are dropped.
extension Request {
    /// The progress of the upload as a sequence. It begins with the latest value, has at most one value per `interval`,
    /// and always ends with the last value.
    public func uploadProgress(
        every interval: Duration = .milliseconds(50),
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.uploadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0, every: interval) }
    }

    /// The progress of the download as a sequence. It begins with the latest value, has at most one value per
    /// `interval`, and always ends with the last value.
    public func downloadProgress(
        every interval: Duration = .milliseconds(50),
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.downloadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0, every: interval) }
    }

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
