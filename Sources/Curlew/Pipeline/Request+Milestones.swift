internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// The moments of an attempt that users can observe.
extension Request {
    /// Reports the final `URLRequest` of an attempt, before its exchange begins.
    func created(_ visible: VisibleRequest, isNoted: Bool, _ events: EventSink?) throws(CurlewError) {
        let creation = record.withLock { $0.isCancelled ? nil : $0.created(visible, isNoted: isNoted) }
        guard let creation else { throw cancellation }
        tell(creation, of: visible, events)
    }

    private func tell(_ creation: RequestRecord.Creation, of visible: VisibleRequest, _ events: EventSink?) {
        if let events {
            let made = visible.urlRequest
            events.emit { [self] in $0.request(self, didCreateURLRequest: made) }
        }
        creation.hooks?.call(visible.urlRequest) { cURLDescription(as: $0) }
    }

    /// Adds a request to the history, for adapters, monitors and users to see.
    func note(_ visible: VisibleRequest) { record.withLock { $0.history.note(visible) } }

    /// Adds the target of a redirect to the history, and with it what the transport sends besides the `URLRequest`.
    func note(redirect visible: VisibleRequest, as next: TransferRequest, sendsSameBody: Bool) {
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
    fileprivate mutating func created(_ visible: VisibleRequest, isNoted: Bool) -> Creation {
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
        let began = Lock(making: { [upload] in ExchangeState(task, waits ? .waiting : .running, uploaded: upload) })
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
