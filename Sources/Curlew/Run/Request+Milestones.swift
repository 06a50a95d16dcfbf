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

    /// Starts an exchange that monitors know of already, and whose end they have to hear of. Returns `false` if the
    /// request is suspended.
    func startsAnnouncedExchange() throws(CurlewError) -> Bool {
        // The file of the former exchange is released without the lock.
        let (isCancelled, former) = record.withLock { record -> (Bool, (HeadAnswer?, BodyFile?)?) in
            guard !record.isCancelled, !record.holdsDriver else { return (record.isCancelled, nil) }
            record.run.active?.exchange?.stage = .running
            return (false, record.transfer.exchangeBegins())
        }
        if isCancelled { throw cancellation }
        former?.0?.expire()
        return former != nil
    }

    /// Tells the cURL closure that there is no `URLRequest` to describe.
    func creationFailed() {
        let hook = record.withLock { record in record.extras.flatMap { exchange(&$0.hooks.onCURL, with: nil) } }
        hook?.call { cURLDescription(as: $0) }
    }

    /// Begins the hop's exchange, unless it has begun. Returns whether it has yet to be started, when the request is no
    /// longer suspended. Returns `nil`, and begins none, if the request was cancelled. One step under the lock.
    ///
    /// With `readsOptions`, it waits in any case, if only for a moment: the options and the total timeout were read
    /// before the result was asked for, and are read again after the wait.
    func begins(_ hop: Hop, as task: TaskIdentifier, readsOptions: Bool, _ events: EventSink?) -> Bool? {
        let (isHeld, creation, beginning) = record.withLock { $0.begins(hop, as: task, readsOptions: readsOptions) }
        if let creation { tell(creation, of: hop.visible, events) }
        if let beginning { tell(beginning, of: task, events) }
        return isHeld
    }

    private func tell(_ beginning: RequestRecord.Beginning, of task: TaskIdentifier, _ events: EventSink?) {
        beginning.formerBody.0?.expire()
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
        let hook: Hook<TaskIdentifier>?
        let streams: [any RequestStream]
        let isSuspended: Bool
        // Released without the lock.
        fileprivate let former: FormerExchange
        fileprivate let formerBody: (HeadAnswer?, BodyFile?)
    }

    // The observers are read in the same step: one that is added later finds the request in the history.
    fileprivate mutating func created(_ visible: VisibleRequest, isNoted: Bool) -> Creation {
        if !isNoted { history.note(visible) }
        history.attempt.announcedCount = history.attempt.visibleRequests.count
        return Creation(hooks: extras?.hooks.takeForCreation())
    }

    private mutating func begins(_ task: TaskIdentifier, isHeld: Bool) -> Beginning? {
        let next = ActiveExchange(task, isHeld ? .waiting : .running)
        guard let former = run.begins(next) else { return nil }
        history.attempt.identifiers.append(task)
        let formerBody = transfer.exchangeBegins()
        return Beginning(
            hook: extras?.hooks.onTaskCreation,
            streams: extras?.hooks.streams ?? [],
            isSuspended: state == .suspended,
            former: former,
            formerBody: formerBody
        )
    }

    fileprivate mutating func begins(
        _ hop: Hop,
        as task: TaskIdentifier,
        readsOptions: Bool
    ) -> (Bool?, Creation?, Beginning?) {
        if case .started = hop.announcement { return (true, nil, nil) }
        guard !isCancelled else { return (nil, nil, nil) }
        var creation: Creation?
        if case .described(let isNoted) = hop.announcement { creation = created(hop.visible, isNoted: isNoted) }
        let isHeld = holdsDriver || readsOptions
        guard let beginning = begins(task, isHeld: isHeld) else { return (nil, creation, nil) }
        return (isHeld, creation, beginning)
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
