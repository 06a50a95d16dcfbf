internal import CurlewCore
internal import CurlewLocks

/// The state of a request that users see, and the state of its run. It starts and ends nothing: every transition is one
/// function, which returns the work to do after the request's lock is released.
///
///                  resume(), an awaiting method, a handler that starts
///     initialized ────────────────────────────────────────────────────▶ resumed ──── finish ───▶ finished
///          │  └──────── suspend() ────▶ suspended ◀── suspend() ─────────┤ ▲ ▲                     │
///          │                            │      └────────── resume() ─────┼─┘ └── a handler, late ──┘
///          └─────────── cancel() ───────┴──────────────────────────────▶ cancelled (for good)
///
/// A request may finish without having been resumed: its session ends before it starts, or the run that `prepare()`
/// began fails.
///
///     idle ── started by the first of resume(), an awaiting method, prepare() ──▶ running ──▶ ended
///       └──────────────────────────── cancel() before that ──────────────────────────────────▶
///
/// The two states are separate because neither implies the other: a suspended request may have no run yet; a cancelled
/// one may have a run that is still ending; a request is finished only when its handlers have run, after the run.
struct RequestLifecycle {
    /// The only record of whether a run exists.
    enum RunState {
        /// The result has not been asked for.
        case idle
        case running(Driver)
        case ended(RunResult)
    }

    /// The parts of a run in progress that `cancel()` and `resume()` use.
    struct Driver {
        /// The driver's task, if Curlew started it.
        var ownedTask: Task<Void, Never>?
        /// User code that is running, if the driver's task is the user's.
        var userCode: InterruptibleUserCode?
        /// Lets a driver continue that waits because the request is suspended, or because its result has not been asked
        /// for. Resolved by `resume()`, `cancel()`, and the first call that awaits the result.
        var waiter: OneShot<Void>?
        /// The user's handle, if handlers of a stream or a WebSocket need it and the run has another one.
        var handle: Request?
    }

    /// The state that users see.
    private(set) var state = RequestState.initialized
    private(set) var run = RunState.idle
    /// Whether anyone wants the result yet: the request was resumed, or its result asked for. Before that, nothing is
    /// sent and the total timeout does not begin.
    private(set) var hasDemand = false
    /// Whether a task runs the response handlers.
    private(set) var runsHandlers = false
    /// The error of the cancelled request.
    private(set) var cancellation: CurlewError?

    var isCancelled: Bool { state == .cancelled }

    /// Whether the driver has to wait: the request is suspended, or its result has not been asked for.
    var driverHasToWait: Bool { state == .suspended || state == .initialized }

    /// The result. `nil` before the end.
    var result: RunResult? {
        switch run {
        case .ended(let result): result
        case .idle, .running: nil
        }
    }

    /// The parts of the run. `nil` unless a run is in progress; setting it then has no effect.
    var driver: Driver? {
        get {
            switch run {
            case .running(let driver): driver
            case .idle, .ended: nil
            }
        }
        set {
            switch run {
            case .running: if let newValue { run = .running(newValue) }
            case .idle, .ended: break
            }
        }
    }

    // MARK: Starting

    enum Resumption {
        /// Start the run, and with it the handlers.
        case start
        /// The run, or the handlers of an ended one, continue. Resolve `waiter`, for which the driver waits.
        case proceed(waiter: OneShot<Void>?)
    }

    /// Returns `nil` if the request was already resumed, or has ended.
    mutating func resume() -> Resumption? {
        guard state.canTransition(to: .resumed) else { return nil }
        state = .resumed
        hasDemand = true
        switch run {
        case .idle:
            run = .running(Driver())
            runsHandlers = true
            return .start
        case .running: return .proceed(waiter: takeWaiter())
        case .ended: return .proceed(waiter: nil)
        }
    }

    enum AwaitAction {
        /// The caller is the driver. `becameResumed`: the state has just changed to resumed. `startsHandlers`: a task
        /// for the handlers that were added before has to be started.
        case drive(becameResumed: Bool, startsHandlers: Bool)
        /// Another caller drives the request. Resolve `waiter`: the driver waits for it without a total timeout, which
        /// begins now that the result is asked for.
        case join(waiter: OneShot<Void>?)
        case ended(RunResult)
    }

    /// Decides whether a caller that awaits the result drives the run or waits for it.
    mutating func awaitResult(hasHandlers: Bool) -> AwaitAction {
        let hadDemand = exchange(&hasDemand, with: true)
        switch run {
        case .idle:
            run = .running(Driver())
            // A request that was suspended before its start remains suspended, and the driver waits.
            let becomesResumed = state == .initialized
            if becomesResumed { state = .resumed }
            return .drive(becameResumed: becomesResumed, startsHandlers: hasHandlers && beginHandlers())
        case .running: return .join(waiter: hadDemand ? nil : takeWaiter())
        case .ended(let result): return .ended(result)
        }
    }

    /// Begins a run that waits for `resume()`, a handler or an awaiting method before it sends anything. Returns
    /// `false` if there is or was a run.
    mutating func prepare() -> Bool {
        switch run {
        case .idle:
            run = .running(Driver())
            return beginHandlers()
        case .running, .ended: return false
        }
    }

    // MARK: Handlers

    enum HandlerAction {
        /// A task runs the handlers, or will be started.
        case none
        case resume(Resumption)
        /// Put the request on the session's shelf until it is started.
        case shelve
        /// Start a task for the handlers.
        case startHandlers
    }

    /// A handler was added. With `startsImmediately`, the first one starts the request.
    mutating func handlerAdded(startsImmediately: Bool) -> HandlerAction {
        if state == .initialized, startsImmediately, let resumption = resume() { return .resume(resumption) }
        switch run {
        case .idle: return .shelve
        case .running, .ended:
            guard beginHandlers() else { return .none }
            // A handler that is added after the end makes the request active again.
            if state == .finished { state = .resumed }
            return .startHandlers
        }
    }

    /// Returns `true` if no task runs the handlers: then the caller has to start one.
    mutating func beginHandlers() -> Bool { !exchange(&runsHandlers, with: true) }

    /// All handlers have run, after the end of the run.
    mutating func handlersEnded() {
        runsHandlers = false
        finish()
    }

    // MARK: Suspending

    /// Returns `false` if the request cannot be suspended.
    mutating func suspend() -> Bool {
        guard state.canTransition(to: .suspended) else { return false }
        state = .suspended
        return true
    }

    /// Returns the event that the driver has to wait for. `nil` if the driver may continue, or if its options are stale,
    /// because the demand came after they were read. `sawDemand` is `hasDemand` when they were read.
    mutating func driverWaiter(sawDemand: Bool) -> OneShot<Void>? {
        guard driverHasToWait, sawDemand == hasDemand, var driver else { return nil }
        let waiter = driver.waiter ?? OneShot()
        driver.waiter = waiter
        self.driver = driver
        return waiter
    }

    private mutating func takeWaiter() -> OneShot<Void>? {
        guard var driver, let waiter = exchange(&driver.waiter, with: nil) else { return nil }
        self.driver = driver
        return waiter
    }

    // MARK: Ending

    enum CancelAction {
        /// No run was started: the request ends with this result.
        case end(RunResult)
        /// The run ends by itself once its parts are cancelled.
        case stop(Driver)
        case hasEnded
    }

    /// Returns `nil` if the request has ended, or was cancelled before.
    mutating func cancel(with error: CurlewError) -> CancelAction? {
        guard state.canTransition(to: .cancelled) else { return nil }
        state = .cancelled
        cancellation = error
        switch run {
        case .idle: return .end(RunResult(error: error))
        case .running(let driver):
            _ = takeWaiter()
            return .stop(driver)
        case .ended: return .hasEnded
        }
    }

    /// Ends the run. Returns its former state, to be released without the lock.
    mutating func end(with result: RunResult) -> RunState { exchange(&run, with: .ended(result)) }

    /// Replaces the result of an ended run, whose file was removed. Returns the former one.
    mutating func replaceResult(_ change: (RunResult) -> RunResult) -> RunResult? {
        guard let result else { return nil }
        run = .ended(change(result))
        return result
    }

    /// Finishes the request. A cancelled request stays cancelled.
    mutating func finish() {
        if state.canTransition(to: .finished) { state = .finished }
    }
}
