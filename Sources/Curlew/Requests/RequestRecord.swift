internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The mutable state of a request, protected by the request's lock. The run keeps its own state in `Run`.
///
/// | part | question | written by |
/// |---|---|---|
/// | `RequestLifecycle` | has the request started, is it suspended, has it a run or a result? | every transition |
/// | `RequestOptions` | what did the user ask for? Each step reads it when it begins | the user |
/// | `RequestHooks` | who is notified while it runs: closures, monitors, progress, streams | the user |
/// | `HandlerQueue` | what is called with its result? | the user |
/// | `RequestHistory` | which attempts were made, with which requests, metrics and errors? | the run |
/// | `ExchangeState` | what has arrived of the latest response? | its exchange, under a lock of its own |
struct RequestRecord {
    /// The identifier, created when it is first read, because most never are.
    lazy var id = UUID()
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
        let extras = ensureExtras()
        extras.options.adapters = [interceptor]
        extras.options.retriers = [interceptor]
    }

    /// Returns the options and hooks to change them, and creates them for the first change.
    mutating func ensureExtras() -> RequestExtras {
        if let extras { return extras }
        let made = RequestExtras()
        extras = made
        return made
    }

    /// The monitors of the session, of the request and of the process. `nil` if there are none. Never stored for longer
    /// than an attempt: monitors of the request and of the process may be added at any time.
    func eventSink(in context: SessionContext) -> EventSink? {
        EventSink(session: context.monitorQueues, own: extras?.hooks.monitorQueues ?? [])
    }

    /// The error of the last attempt.
    var error: CurlewError? {
        get { history.lastAttempt.error }
        set { history.lastAttempt.error = newValue }
    }

    /// The current exchange, even if it still waits to be sent. `nil` once it has ended.
    var currentTask: TaskIdentifier? { exchange?.withLock { $0.stage == .over ? nil : $0.id } }

    /// The current exchange. `nil` while its driver still has to report its start to monitors.
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

/// The options and hooks of one request. A class, so that an absent value costs one pointer in every request. Protected
/// by the request's lock.
final class RequestExtras {
    var options = RequestOptions()
    var hooks = RequestHooks()
    var taskDescription: String?
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
        let (run, former) = (lifecycle.end(with: result), link)
        link = .none
        return Ending(result: result, run: run, link: former, awaitedResult: awaitedResult, hooks: hooks)
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

extension RequestRecord {
    /// Returns the session's options, with those of the request.
    func attemptOptions(in context: SessionContext) -> AttemptOptions {
        var options = context.attemptOptions
        (options.sawDemand, options.isCancelled) = (lifecycle.hasDemand, lifecycle.isCancelled)
        options.events = eventSink(in: context)
        if let extras { options.add(extras, to: context) }
        return options
    }
}

extension AttemptOptions {
    /// Adds the options of a request, except its monitors, to those of the session.
    fileprivate mutating func add(_ own: RequestExtras, to context: SessionContext) {
        adapters += own.options.adapters
        if !own.options.retriers.isEmpty { hasRetriers = true }
        if !own.options.exchangeAdapters.isEmpty || !own.options.middleware.isEmpty {
            interceptors = ExchangeInterceptors(
                context.configuration.exchangeAdapters + own.options.exchangeAdapters,
                context.configuration.middleware + own.options.middleware
            )
        }
        if let timeouts = own.options.timeouts { totalTimeout = timeouts.total }
    }
}
