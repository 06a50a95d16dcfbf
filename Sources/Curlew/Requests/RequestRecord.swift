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

    /// The current exchange, once monitors have heard of its start. If it still waits to be sent, the driver will
    /// report its start.
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
        // A cancelled request gets its error before its resume data exists, so the data is added here.
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

/// The reference from a request to its session.
enum SessionLink {
    /// The request has not started or is running, and keeps the session alive.
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
