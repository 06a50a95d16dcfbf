internal import CurlewCore

// How a run begins. Who carries it out and who works on its handlers is decided in one step under the record's lock:
// a handler that is attached meanwhile would otherwise find nobody, or take the driver's place.
extension RequestRecord {
    /// What is left to do for a request that was resumed.
    enum Resumption {
        /// Start its run, and with it the work on its handlers.
        case start
        case proceed(task: TaskIdentifier?, driver: Driver?)
    }

    /// Nil where the request was at work already, or has ended.
    mutating func resume() -> Resumption? {
        switch machine.resumed() {
        case .nothing: return nil
        case .start:
            handlers.begin()
            return .start
        case .proceed:
            return .proceed(task: taskState == .running ? task : nil, driver: exchange(&heldDriver, with: nil))
        }
    }

    /// What the exchange is to be told next, and that one thread tells it at a time; nil where it knows, or another thread is
    /// at it.
    mutating func nextTold() -> (control: any TransferControl, isSuspended: Bool)? {
        let isSuspended = machine.state == .suspended
        guard controlIsTold, let control, isSuspended != controlIsSuspended else { return nil }
        controlIsTold = false
        controlIsSuspended = isSuspended
        return (control, isSuspended)
    }

    /// What is left to do for a handler.
    enum Attachment {
        /// Somebody works on handlers, or will.
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
        if machine.state == .initialized, startsImmediately, let resumption = resume() { return .resume(resumption) }
        guard machine.run != .none else { return .shelve }
        guard handlers.begin() else { return .none }
        machine.reopened()
        return .work
    }

    /// An awaiter wants the result. `startsHandlers`: it drives, and somebody has to work on those attached before.
    mutating func awaited() -> (action: RequestStateMachine.DriveAction, startsHandlers: Bool) {
        let action = machine.awaited()
        guard case .drive = action, !handlers.isEmpty else { return (action, false) }
        return (action, handlers.begin())
    }

    /// Setting the request up ahead of its start has failed. True where a run has to be started that finds out what
    /// follows.
    mutating func setUpFailed() -> Bool {
        guard machine.setUpFailed() else { return false }
        handlers.begin()
        return true
    }
}
