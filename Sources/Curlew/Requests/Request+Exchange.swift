internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// Records final `URLRequest`s and the beginnings of exchanges, and notifies their observers.

extension Request {
    /// Reports the final `URLRequest` of an attempt, before its exchange begins.
    func created(_ visible: RequestSnapshot, isNoted: Bool, _ events: EventSink?) throws(CurlewError) {
        let hooks = record.withLock { $0.isCancelled ? nil : $0.created(visible, isNoted: isNoted) }
        guard let hooks else { throw cancellation }
        call(hooks, with: visible, events)
    }

    /// Calls the observers of a final `URLRequest`.
    func call(_ hooks: CreationHooks, with visible: RequestSnapshot, _ events: EventSink?) {
        if let events {
            let made = visible.urlRequest
            events.emit { [self] in $0.request(self, didCreateURLRequest: made) }
        }
        if !hooks.isEmpty { hooks.call(visible.urlRequest) { cURLDescription(as: $0) } }
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

    /// Waits while the request is suspended: until it is resumed, its result is asked for, or the total timeout
    /// expires. The request may be suspended when this returns.
    // Never inlined; see `Run`.
    @inline(never)
    func untilResumed(within budget: TimeoutBudget, wasAskedFor: Bool) async throws(CurlewError) {
        try await budget.limitWait(.queue) {
            _ = await self.record.withLock { $0.lifecycle.hold(wasAskedFor: wasAskedFor) }?.wait()
        }
        // The task was cancelled, and the request will be: nothing may be sent in between.
        if Task.isCancelled, record.withLock({ $0.lifecycle.holdsDriver }) { throw cancellation }
    }

    /// Starts an exchange that has waited. Returns `false` if the request is suspended.
    func startWaiting(_ exchange: Lock<ExchangeState>) throws(CurlewError) -> Bool {
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
}

extension RequestRecord {
    /// An exchange that begins, and its observers.
    struct Beginning {
        let exchange: Lock<ExchangeState>
        /// Whether the exchange has yet to be started, when the request is no longer suspended.
        let waits: Bool
        /// The observers of the `URLRequest`, if they have not been called yet.
        let creation: CreationHooks?
        let hook: Hook<TaskIdentifier>?
        let streams: [any RequestStream]
        let isSuspended: Bool
        /// The exchange that this one replaces. Released without the lock: its control may belong to a user's
        /// transport.
        fileprivate let former: Lock<ExchangeState>?
    }

    // The observers are read in the same step: one that is added later finds the request in the history.
    fileprivate mutating func created(_ visible: RequestSnapshot, isNoted: Bool) -> CreationHooks {
        if !isNoted { history.note(visible) }
        history.attempt.announcedCount = history.attempt.visibleRequests.count
        return extras?.hooks.takeForCreation() ?? CreationHooks()
    }

    /// Begins an exchange. Returns `nil`, and begins none, if the request was cancelled.
    ///
    /// With `readsOptions`, it waits in any case, if only for a moment: the options and the total timeout were read
    /// before the result was asked for, and are read again after the wait.
    mutating func beginExchange(
        _ next: OutgoingRequest,
        as task: TaskIdentifier,
        readsOptions: Bool
    ) -> Beginning? {
        // A repeated exchange begins even if the request is cancelled, and waits: monitors know of its start and must
        // hear of its end. `startWaiting` throws the cancellation.
        let isRepeated = next.announcement.isStarted
        guard isRepeated || !isCancelled else { return nil }
        var creation: CreationHooks?
        if case .described(let isNoted) = next.announcement { creation = created(next.snapshot, isNoted: isNoted) }
        if !isRepeated { history.attempt.identifiers.append(task) }
        let waits = isRepeated || lifecycle.holdsDriver || readsOptions
        let began = Lock(making: { [upload] in
            ExchangeState(task, waits ? .waiting(isReported: isRepeated) : .running, uploaded: upload)
        })
        return Beginning(
            exchange: began,
            waits: waits,
            creation: creation,
            hook: extras?.hooks.onTaskCreation,
            streams: extras?.hooks.streams ?? [],
            isSuspended: state == .suspended,
            former: Swift.exchange(&exchange, with: began)
        )
    }
}

/// The observers of a final `URLRequest`.
struct CreationHooks {
    var onRequest: Hook<URLRequest>?
    var onCURL: CURLHook?
    var streams: [any RequestStream] = []

    var isEmpty: Bool { onRequest == nil && onCURL == nil && streams.isEmpty }

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
    /// Returns the observers. Removes the cURL closure, which is called once.
    fileprivate mutating func takeForCreation() -> CreationHooks {
        CreationHooks(onRequest: onRequestCreation, onCURL: exchange(&onCURL, with: nil), streams: streams)
    }
}
