internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// Moments of a try that users can hook into.
extension Request {
    /// The final `URLRequest` of a try exists.
    func created(_ visible: VisibleRequest, _ events: EventSink?) throws(CurlewError) {
        let (isCancelled, hooks) = record.withLock { record -> (Bool, CreationHooks?) in
            guard !record.isCancelled else { return (true, nil) }
            // In one step with the look at who wants it: who comes later finds it here.
            record.history.requestsTold = record.history.requests.count
            return (false, record.extras?.hooks.takeForCreation())
        }
        if isCancelled { throw cancellation }
        events?.emitLeading(.madeRequest) { [self] in
            let made = visible.urlRequest
            return { $0.request(self, didCreateURLRequest: made) }
        }
        hooks?.call(visible.urlRequest) { cURLDescription(includingCredentials: $0) }
    }

    /// Adapters, monitors and users may look at it from here on.
    func note(_ visible: VisibleRequest) { record.withLock { $0.history.requests.append(visible) } }

    /// The exchange was set up ahead: monitors that know of it are told its end as well.
    func startsAnnouncedExchange() throws(CurlewError) {
        if isCancelled { throw cancellation }
        record.withLock { $0.run.active?.exchange?.stage = .running }
    }

    /// There is no `URLRequest` to describe.
    func creationFailed() {
        let hook = record.withLock { record in record.extras.flatMap { exchange(&$0.hooks.onCURL, with: nil) } }
        hook?.call { cURLDescription(includingCredentials: $0) }
    }

    /// There is an exchange, which starts at once or with the request. False where the request was cancelled: then there
    /// is none.
    func begins(_ task: TaskIdentifier, as stage: ActiveExchange.Stage, _ events: EventSink?) -> Bool {
        let (hook, streams, isSuspended) = record.withLock { record in
            guard !record.isCancelled, record.run.begins(ActiveExchange(task, stage)) else {
                return (nil as Hook<TaskIdentifier>?, nil as [any RequestStream]?, false)
            }
            record.history.tasks.append(task)
            // An exchange that gets no answer must not be judged by an earlier one's.
            record.transfer.response = nil
            record.transfer.acceptedHead = nil
            return (
                record.extras?.hooks.onTaskCreation, record.extras?.hooks.streams ?? [], record.state == .suspended
            )
        }
        guard let streams else { return false }
        events?.emitLeading(.madeTask) { [self] in { $0.request(self, didCreateTask: task) } }
        if isSuspended { events?.emit { [self] in $0.request(self, didSuspendTask: task) } }
        hook?.call(task)
        for stream in streams { stream.send(task) }
        return true
    }
}

/// A request as a command line, told apart from other strings.
struct CURLCommand: Sendable {
    let text: String
}

/// Who wants to know of a request's command line, and how much of it.
struct CURLHook: Sendable {
    let hook: Hook<String>
    let includesCredentials: Bool

    func call(_ describe: (_ includingCredentials: Bool) -> String) { hook.call(describe(includesCredentials)) }
}

/// Who wants to know of a final `URLRequest`.
private struct CreationHooks {
    let onRequest: Hook<URLRequest>?
    let onCURL: CURLHook?
    let streams: [any RequestStream]

    func call(_ request: URLRequest, _ describe: (_ includingCredentials: Bool) -> String) {
        onRequest?.call(request)
        onCURL?.call(describe)
        if streams.contains(where: { $0.wants(CURLCommand.self) }) {
            let command = CURLCommand(text: describe(false))
            for stream in streams { stream.send(command) }
        }
        for stream in streams { stream.send(request) }
    }
}

extension RequestHooks {
    /// nil where there is none, as nearly always.
    fileprivate mutating func takeForCreation() -> CreationHooks? {
        if case .none = onRequestCreation, case .none = onCURL, streams.isEmpty { return nil }
        return CreationHooks(onRequest: onRequestCreation, onCURL: exchange(&onCURL, with: nil), streams: streams)
    }
}
