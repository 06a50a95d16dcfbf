internal import CurlewCore
internal import CurlewLocks

// The transitions that start, suspend and end a request. Each is one step under the record's lock, and returns the work
// that is left to do without the lock. The driver and the task for the handlers are decided in that step, so that
// neither starts twice.
extension RequestRecord {
    // MARK: Starting

    /// The work that remains after a request was resumed.
    enum Resumption {
        /// Start the run, and with it the handlers.
        case start
        case proceed(task: TaskIdentifier?, hold: OneShot<Void>?)
    }

    /// Returns `nil` if the request was already resumed, or has ended.
    mutating func resume() -> Resumption? {
        guard state.canTransition(to: .resumed) else { return nil }
        state = .resumed
        isAskedFor = true
        switch run {
        case .idle:
            run.begins()
            handlers.begin()
            return .start
        case .running(let active):
            // The driver reports the start of an exchange that has waited.
            let task = active.exchange.flatMap { $0.stage == .running ? $0.task : nil }
            return .proceed(task: task, hold: exchange(&active.hold, with: nil))
        case .ended: return .proceed(task: nil, hold: nil)
        }
    }

    enum DriveAction {
        /// The caller is the driver. `becameResumed`: the state has just changed to resumed. `startsHandlers`: a task
        /// for the handlers that were attached before has to be started.
        case drive(becameResumed: Bool, startsHandlers: Bool)
        /// Another caller drives the request. `hold`: the driver waits for it without a total timeout, which begins now
        /// that the result is asked for.
        case join(hold: OneShot<Void>?)
        case ended(RunResult)
    }

    /// Decides whether a caller that awaits the result drives the run or waits for it.
    mutating func awaited() -> DriveAction {
        let wasAskedFor = exchange(&isAskedFor, with: true)
        switch run {
        case .idle:
            run.begins()
            // A request that was suspended before its start remains suspended, and the driver waits.
            let becomesResumed = state == .initialized
            if becomesResumed { state = .resumed }
            let startsHandlers = !handlers.isEmpty && handlers.begin()
            return .drive(becameResumed: becomesResumed, startsHandlers: startsHandlers)
        case .running(let active): return .join(hold: wasAskedFor ? nil : exchange(&active.hold, with: nil))
        case .ended(let result): return .ended(result)
        }
    }

    /// The work that remains after a handler was added.
    enum Attachment {
        /// A task runs the handlers, or will be started.
        case none
        case resume(Resumption)
        /// Put the request on the shelf until it is started.
        case shelve
        /// Start a task for the handlers.
        case work
    }

    /// Adds a handler. With `startsImmediately`, the first one starts the request.
    mutating func attach(_ serializer: @escaping HandlerQueue.Serializer, startsImmediately: Bool) -> Attachment {
        handlers.add(serializer)
        if state == .initialized, startsImmediately, let resumption = resume() { return .resume(resumption) }
        switch run {
        case .idle: return .shelve
        case .running, .ended:
            guard handlers.begin() else { return .none }
            // A handler that is added after the end makes the request active again.
            if state == .finished { state = .resumed }
            return .work
        }
    }

    // MARK: Suspending

    /// Suspends the request. Returns `false` if that is not possible.
    mutating func suspend() -> Bool {
        guard state.canTransition(to: .suspended) else { return false }
        state = .suspended
        return true
    }

    /// Returns the event that the driver has to wait for, or `nil` if it may continue, or if the result was asked for
    /// since the driver has read its options.
    func hold(wasAskedFor: Bool) -> OneShot<Void>? {
        guard holdsDriver, wasAskedFor == isAskedFor, let active = run.active else { return nil }
        let hold = active.hold ?? OneShot()
        active.hold = hold
        return hold
    }

    /// Returns the next state to tell the exchange's control, and reserves the control for the calling thread. `nil` if
    /// the control has the latest state, or another thread is calling it.
    func nextTold() -> (control: any TransferControl, task: TaskIdentifier, isSuspended: Bool)? {
        let isSuspended = state == .suspended
        guard let active = run.active, let exchange = active.exchange, let control = exchange.control,
            !exchange.isBeingTold, exchange.isSuspended != isSuspended
        else { return nil }
        active.exchange?.isBeingTold = true
        active.exchange?.isSuspended = isSuspended
        return (control, exchange.task, isSuspended)
    }

    /// Releases the control. Another exchange, which may have begun meanwhile, keeps its reservation.
    func wasTold(_ task: TaskIdentifier) {
        if run.active?.exchange?.task == task { run.active?.exchange?.isBeingTold = false }
    }

    // MARK: Ending

    enum Cancellation {
        /// No run was started: the request has ended.
        case end(Ending)
        /// The run ends by itself once its parts are cancelled.
        case stop(RunningParts)
        case hasEnded
    }

    /// The parts of a run that have to be cancelled.
    struct RunningParts {
        let task: TaskIdentifier?
        let hold: OneShot<Void>?
        let foreignCall: ForeignWork?
        let ownedTask: Task<Void, Never>?
        let control: (any TransferControl)?
    }

    /// Returns `nil` if the request has ended, or was cancelled before.
    mutating func cancel(with error: CurlewError) -> Cancellation? {
        guard state.canTransition(to: .cancelled) else { return nil }
        state = .cancelled
        cancellation = error
        if self.error == nil { self.error = error }
        switch run {
        case .idle: return .end(end(with: RunResult(error: error)))
        case .running(let active):
            let parts = RunningParts(
                task: startedTask,
                hold: exchange(&active.hold, with: nil),
                foreignCall: active.foreignCall,
                ownedTask: active.ownedTask,
                control: active.exchange?.control
            )
            return .stop(parts)
        case .ended: return .hasEnded
        }
    }

    /// The work that remains when there is a result.
    struct Ending {
        let result: RunResult
        /// The former state, kept until the lock is released: it can hold the last reference to the session or to
        /// users' objects.
        let run: RunState
        let awaitedResult: OneShot<RunResult>?
        let hooks: RequestHooks?
    }

    mutating func end(with result: RunResult) -> Ending {
        // A cancelled request has its error before its resume data.
        if let data = result.resumeData { error?.downloadResumeData = data }
        let hooks = extras?.hooks
        extras?.hooks.streams = []
        let before = exchange(&run, with: .ended(result))
        return Ending(result: result, run: before, awaitedResult: awaitedResult, hooks: hooks)
    }

    /// Finishes the request. A cancelled request stays cancelled.
    mutating func finish() {
        if state.canTransition(to: .finished) { state = .finished }
    }
}
