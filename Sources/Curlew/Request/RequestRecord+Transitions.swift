internal import CurlewCore
internal import CurlewLocks

// What starts, holds and ends a request. Each is one step under the record's lock, and answers what is left to do without
// it: who carries the request out and who works on its handlers is decided at once, so that neither is done twice.
extension RequestRecord {
    // MARK: Starting

    /// What is left to do for a request that was resumed.
    enum Resumption {
        /// Start its run, and with it the work on its handlers.
        case start
        case proceed(task: TaskIdentifier?, hold: OneShot<Void>?)
    }

    /// nil where the request was at work already, or has ended.
    mutating func resume() -> Resumption? {
        guard state.canTransition(to: .resumed) else { return nil }
        state = .resumed
        switch run {
        case .idle, .prepared:
            run.begins()
            handlers.begin()
            return .start
        case .running(let active):
            let task = active.exchange.flatMap { $0.stage == .running ? $0.task : nil }
            return .proceed(task: task, hold: exchange(&active.hold, with: nil))
        case .ended: return .proceed(task: nil, hold: nil)
        }
    }

    enum DriveAction {
        /// The caller is the driver. `becameResumed`: the state has just changed to resumed. `startsHandlers`: the
        /// handlers that were attached before need a worker.
        case drive(becameResumed: Bool, startsHandlers: Bool)
        /// Another awaiter is.
        case join
        case ended(RunResult)
    }

    /// An awaiter wants the result.
    mutating func awaited() -> DriveAction {
        switch run {
        case .idle, .prepared:
            run.begins()
            // Suspended before the first start it stays suspended: the driver waits.
            let becomesResumed = state == .initialized
            if becomesResumed { state = .resumed }
            let startsHandlers = !handlers.isEmpty && handlers.begin()
            return .drive(becameResumed: becomesResumed, startsHandlers: startsHandlers)
        case .running: return .join
        case .ended(let result): return .ended(result)
        }
    }

    /// What is left to do for a handler.
    enum Attachment {
        /// There is a worker for handlers, or will be.
        case none
        case resume(Resumption)
        /// The request waits for its start.
        case shelve
        /// Start the work on handlers.
        case work
    }

    /// `startsImmediately`: the first handler starts the request.
    mutating func attach(_ serializer: @escaping HandlerQueue.Serializer, startsImmediately: Bool) -> Attachment {
        handlers.add(serializer)
        if state == .initialized, startsImmediately, let resumption = resume() { return .resume(resumption) }
        switch run {
        case .idle, .prepared: return .shelve
        case .running, .ended:
            guard handlers.begin() else { return .none }
            // A handler that comes after the end: the request is at work once more.
            if state == .finished { state = .resumed }
            return .work
        }
    }

    /// Setting the request up ahead of its start has failed. True where a run has to be started that finds out what
    /// follows.
    mutating func setUpFailed() -> Bool {
        switch run {
        case .idle, .prepared:
            run.begins()
            handlers.begin()
            return true
        case .running, .ended: return false
        }
    }

    // MARK: Holding

    /// Whether there is something to hold.
    mutating func suspend() -> Bool {
        guard state.canTransition(to: .suspended) else { return false }
        state = .suspended
        return true
    }

    /// What the driver has to wait for.
    func hold() -> OneShot<Void>? {
        guard holdsDriver, let active = run.active else { return nil }
        let hold = active.hold ?? OneShot()
        active.hold = hold
        return hold
    }

    /// What the exchange is to be told next, and that one thread tells it at a time; nil where it knows, or another thread is
    /// at it.
    func nextTold() -> (control: any TransferControl, isSuspended: Bool)? {
        let isSuspended = state == .suspended
        guard let active = run.active, let exchange = active.exchange, let control = exchange.control,
            !exchange.isBeingTold, exchange.isSuspended != isSuspended
        else { return nil }
        active.exchange?.isBeingTold = true
        active.exchange?.isSuspended = isSuspended
        return (control, isSuspended)
    }

    func wasTold() { run.active?.exchange?.isBeingTold = false }

    // MARK: Ending

    enum Cancellation {
        /// Nothing runs: the request has ended.
        case end(Ending, describing: Task<Void, Never>?)
        /// Nothing runs, but an exchange was set up: a run has to end it.
        case endByRun(task: TaskIdentifier, describing: Task<Void, Never>)
        /// The run ends by itself when it was told.
        case stop(RunningParts)
        case hasEnded
    }

    /// What has to hear of a cancellation.
    struct RunningParts {
        let task: TaskIdentifier?
        let hold: OneShot<Void>?
        let foreignCall: ForeignWork?
        let tasks: [Task<Void, Never>]
        let control: (any TransferControl)?
    }

    /// nil where the request has ended, or was cancelled before.
    mutating func cancel(with error: CurlewError) -> Cancellation? {
        guard state.canTransition(to: .cancelled) else { return nil }
        state = .cancelled
        cancellation = error
        if self.error == nil { self.error = error }
        switch run {
        case .prepared(_, let preparation):
            guard let exchange = preparation.exchange else {
                return .end(end(with: RunResult(error: error)), describing: preparation.work)
            }
            run.begins()
            handlers.begin()
            return .endByRun(task: exchange.task, describing: preparation.work)
        case .idle: return .end(end(with: RunResult(error: error)), describing: nil)
        case .running(let active):
            let parts = RunningParts(
                task: startedTask,
                hold: exchange(&active.hold, with: nil),
                foreignCall: active.foreignCall,
                tasks: [active.ownedTask, active.preparation?.work].compactMap(\.self),
                control: active.exchange?.control
            )
            return .stop(parts)
        case .ended: return .hasEnded
        }
    }

    /// What is left to do when there is a result.
    struct Ending {
        let result: RunResult
        /// What the record has let go of. It can be the last reference to the session or to objects of the user's: it is
        /// kept until the lock is free.
        let run: RunState
        let awaitedResult: OneShot<RunResult>?
        let hooks: RequestHooks?
    }

    mutating func end(with result: RunResult) -> Ending {
        // A request that was cancelled had its error before it had its resume data.
        if let data = result.resumeData { error?.downloadResumeData = data }
        let hooks = extras?.hooks
        extras?.hooks.streams = []
        let before = exchange(&run, with: .ended(result))
        return Ending(result: result, run: before, awaitedResult: awaitedResult, hooks: hooks)
    }

    /// Everything is done. A cancelled request stays cancelled.
    mutating func finish() {
        if state.canTransition(to: .finished) { state = .finished }
    }
}
