internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The mutable state of a request, protected by the request's lock.
struct RequestRecord {
    var identity = LazyIdentity()
    var lifecycle = RequestLifecycle()
    var link: SessionLink
    /// The exchange in flight, or the last one.
    var exchange: Lock<ExchangeState>?
    /// Resolved with the result, for callers that do not drive the run. Created for the first of them.
    private(set) var awaitedResult: OneShot<RunResult>?
    /// The request's options and hooks. `nil` if there are none.
    private(set) var extras: RequestExtras?
    var handlers = HandlerQueue()
    var history = RequestHistory()

    init(session: SessionLink, interceptor: __shared (any RequestInterceptor)?) {
        link = session
        guard interceptor != nil, let interceptor else { return }
        ownExtras.options.adapters = [interceptor]
        ownExtras.options.retriers = [interceptor]
    }

    /// The options and hooks, created when they are first changed.
    var ownExtras: RequestExtras {
        mutating get {
            if let extras { return extras }
            let made = RequestExtras()
            extras = made
            return made
        }
    }

    /// The error of the last attempt.
    var error: CurlewError? {
        get { history.attempt.error }
        set { history.attempt.error = newValue }
    }

    /// The current exchange, even if it still waits to be sent. `nil` once it has ended.
    var currentTask: TaskIdentifier? { exchange?.withLock { $0.stage == .over ? nil : $0.task } }

    /// The current exchange, once monitors have heard of its start. The driver reports the start of one that waits.
    var reportedTask: TaskIdentifier? { exchange?.withLock { $0.reportedTask } }

    /// The head of the last response.
    var response: LazyResponse? { exchange?.withLock { $0.response } }

    /// The body of the last response.
    var body: ReceivedBody { exchange?.withLock { $0.body } ?? .none }

    var upload: TransferCount { exchange?.withLock { $0.upload } ?? TransferCount() }
    var download: TransferCount { exchange?.withLock { $0.download } ?? TransferCount() }

    mutating func resultToWaitFor() -> OneShot<RunResult> {
        if let awaitedResult { return awaitedResult }
        let made = OneShot<RunResult>()
        awaitedResult = made
        return made
    }
}

extension RequestRecord {
    /// The work that remains after a cancellation.
    struct Cancellation {
        /// Set if there was no run: the request has ended.
        var ending: Ending?
        /// The parts of the run, which ends by itself once they are cancelled.
        var driver: RequestLifecycle.Driver?
        var task: TaskIdentifier?
        var exchange: Lock<ExchangeState>?
    }

    /// Returns `nil` if the request has ended, or was cancelled before.
    mutating func cancel(with error: CurlewError) -> Cancellation? {
        guard let action = lifecycle.cancel(with: error) else { return nil }
        if self.error == nil { self.error = error }
        switch action {
        case .end(let result): return Cancellation(ending: end(with: result))
        case .stop(let driver): return Cancellation(driver: driver, task: currentTask, exchange: exchange)
        case .hasEnded: return Cancellation()
        }
    }

    /// The work that remains when there is a result.
    struct Ending {
        let result: RunResult
        /// The former run and link, kept until the lock is released: they can hold the last reference to the session or
        /// to users' objects.
        let run: RequestLifecycle.RunState
        let link: SessionLink
        let awaitedResult: OneShot<RunResult>?
        let hooks: RequestHooks?
    }

    mutating func end(with result: RunResult) -> Ending {
        // A cancelled request has its error before its resume data.
        if let data = result.resumeData { error?.downloadResumeData = data }
        let hooks = extras?.hooks
        extras?.hooks.streams = []
        let (run, link) = (lifecycle.end(with: result), Swift.exchange(&link, with: .none))
        return Ending(result: result, run: run, link: link, awaitedResult: awaitedResult, hooks: hooks)
    }

    /// Adds a handler. With `startsImmediately`, the first one starts the request.
    mutating func add(
        _ serializer: @escaping HandlerQueue.Serializer,
        startsImmediately: Bool
    ) -> RequestLifecycle.HandlerAction {
        handlers.add(serializer)
        return lifecycle.handlerAdded(startsImmediately: startsImmediately)
    }
}

// MARK: Exchanges

extension Request {
    /// Begins an exchange, in one step under the request's lock, and reports it to monitors and observers. `Run.send`
    /// starts it: at once, or if it `waits`, when the request is resumed. Throws if the request was cancelled.
    ///
    /// With `readsOptions`, it waits in any case, if only for a moment: the options and the total timeout were read
    /// before the result was asked for, and are read again after the wait.
    // Never inlined; see `Run`.
    @inline(never)
    func beginExchange(
        _ next: OutgoingRequest,
        as task: TaskIdentifier,
        readsOptions: Bool,
        _ events: EventSink?
    ) throws(CurlewError) -> (state: Lock<ExchangeState>, waits: Bool) {
        let isRepeated = next.announcement.isStarted
        let beginning = record.withLock { record -> ExchangeBeginning? in
            // A repeated exchange begins even if the request is cancelled, and waits: monitors know of its start and
            // must hear of its end. `startWaiting` throws the cancellation.
            guard isRepeated || !record.lifecycle.isCancelled else { return nil }
            let hooks =
                if case .described(let isNoted) = next.announcement {
                    record.recordCreation(of: next.snapshot, isNoted: isNoted)
                } else {
                    record.extras?.hooks
                }
            if !isRepeated { record.history.attempt.identifiers.append(task) }
            let waits = isRepeated || record.lifecycle.holdsDriver || readsOptions
            let began = Lock(making: { [upload = record.upload] in
                ExchangeState(task, waits ? .waiting(isReported: isRepeated) : .running, uploaded: upload)
            })
            return ExchangeBeginning(
                exchange: began, waits: waits, hooks: hooks, isSuspended: record.lifecycle.state == .suspended,
                former: exchange(&record.exchange, with: began))
        }
        guard let beginning else { throw cancellation }
        if case .described = next.announcement { report(creationOf: next.snapshot, to: beginning.hooks, events) }
        guard !isRepeated else { return (beginning.exchange, beginning.waits) }
        events?.emit { [self] in $0.request(self, didCreateTask: task) }
        if beginning.isSuspended { emitChange(of: task, to: .suspended, events) }
        beginning.hooks?.onTaskCreation?.call(task)
        for stream in beginning.hooks?.streams ?? [] { stream.send(task) }
        return (beginning.exchange, beginning.waits)
    }

    /// Records and reports the final `URLRequest` of an attempt that ends before its exchange begins.
    func reportCreation(of snapshot: RequestSnapshot, isNoted: Bool, _ events: EventSink?) throws(CurlewError) {
        let (isCancelled, hooks) = record.withLock { record -> (Bool, RequestHooks?) in
            if record.lifecycle.isCancelled { return (true, nil) }
            return (false, record.recordCreation(of: snapshot, isNoted: isNoted))
        }
        if isCancelled { throw cancellation }
        report(creationOf: snapshot, to: hooks, events)
    }

    private func report(creationOf snapshot: RequestSnapshot, to hooks: RequestHooks?, _ events: EventSink?) {
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
    func creationFailed() {
        let hook = record.withLock { record in record.extras.flatMap { exchange(&$0.hooks.onCURL, with: nil) } }
        hook?.call { cURLDescription(as: $0) }
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
}

/// An exchange that begins, and the hooks that the request has at this moment.
private struct ExchangeBeginning {
    let exchange: Lock<ExchangeState>
    /// Whether it has yet to be started, when the request is no longer suspended.
    let waits: Bool
    let hooks: RequestHooks?
    let isSuspended: Bool
    /// The exchange that this one replaces. Released without the lock: its control may belong to a user's transport.
    let former: Lock<ExchangeState>?
}

extension RequestRecord {
    /// Records a final `URLRequest`. Returns the hooks to report it to, read in the same step: one that is set later
    /// finds the request in the history. The cURL closure is removed, because it is called once.
    fileprivate mutating func recordCreation(of snapshot: RequestSnapshot, isNoted: Bool) -> RequestHooks? {
        if !isNoted { history.note(snapshot) }
        history.attempt.announcedCount = history.attempt.visibleRequests.count
        defer { extras?.hooks.onCURL = nil }
        return extras?.hooks
    }
}

/// The reference from a request to its session.
enum SessionLink {
    /// The request is cold or running, and keeps the session alive.
    case strong(Session)
    /// The request is on the session's shelf, and the session holds the request.
    case shelved(WeakSession)
    case none

    var session: Session? {
        switch self {
        case .strong(let session): session
        case .shelved(let weak): weak.session
        case .none: nil
        }
    }
}

/// A weak reference to a session. A class, because few requests are on a shelf, and a weak reference makes every copy
/// of its owner expensive.
final class WeakSession: Sendable {
    private struct Reference {
        weak var session: Session?
    }

    private let reference: Lock<Reference>

    var session: Session? { reference.withLock { $0.session } }

    init(session: Session) { reference = Lock(Reference(session: session)) }
}
