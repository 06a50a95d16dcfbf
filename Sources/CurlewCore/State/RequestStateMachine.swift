/// Decides what happens when a request is started, held, cancelled or ends: values in, actions out.
///
/// The state that users see and the run are two things: a suspended request may have no run yet, a
/// cancelled one still has a run until everything has been put away.
package struct RequestStateMachine: Sendable {
    package private(set) var state: RequestState = .initialized
    package private(set) var run: Run = .none

    package enum Run: Sendable, Equatable {
        /// Nobody carries the request out.
        case none
        /// One driver does.
        case driven
        /// The result is there.
        case ended
    }

    package init() {}

    // MARK: What users ask for

    package enum ResumeAction: Sendable, Equatable {
        case nothing
        /// Somebody has to start the run.
        case start
        /// A run exists: let it go on.
        case proceed
    }

    package mutating func resumed() -> ResumeAction {
        guard state.canTransition(to: .resumed) else { return .nothing }
        state = .resumed
        switch run {
        case .none:
            run = .driven
            return .start
        case .driven, .ended: return .proceed
        }
    }

    /// Whether there is something to hold.
    package mutating func suspended() -> Bool {
        guard state.canTransition(to: .suspended) else { return false }
        state = .suspended
        return true
    }

    package enum CancelAction: Sendable, Equatable {
        case nothing
        /// Nothing runs: the request ends here.
        case end
        /// Nothing runs, but an exchange was set up: a run has to end it.
        case endByRun
        /// Stop the run, which then ends by itself.
        case stopRun
    }

    /// `isSetUp`: there is an exchange although nothing runs.
    package mutating func cancelled(isSetUp: Bool = false) -> CancelAction {
        guard state.canTransition(to: .cancelled) else { return .nothing }
        state = .cancelled
        switch run {
        case .none:
            run = isSetUp ? .driven : .ended
            return isSetUp ? .endByRun : .end
        case .driven, .ended: return .stopRun
        }
    }

    // MARK: What the run tells

    package enum DriveAction: Sendable, Equatable {
        /// The caller is the driver. `becameResumed`: the state has just changed to resumed.
        case drive(becameResumed: Bool)
        /// Somebody else is.
        case join
        case ended
    }

    /// An awaiter wants the result.
    package mutating func awaited() -> DriveAction {
        switch run {
        case .none:
            run = .driven
            // Suspended before the first start stays suspended: the driver waits.
            guard state == .initialized else { return .drive(becameResumed: false) }
            state = .resumed
            return .drive(becameResumed: true)
        case .driven: return .join
        case .ended: return .ended
        }
    }

    /// The run has its result; handlers may still be at work on it.
    package mutating func runEnded() { run = .ended }

    /// Everything is done. A cancelled request stays cancelled.
    package mutating func finished() {
        if state.canTransition(to: .finished) { state = .finished }
    }

    /// A handler came after the end: the request is at work once more.
    package mutating func reopened() {
        if state == .finished { state = .resumed }
    }

    /// Setting the request up ahead of its start has failed: a run has to find out what follows. False where
    /// there is one.
    package mutating func setUpFailed() -> Bool {
        guard run == .none else { return false }
        run = .driven
        return true
    }

    /// A failing serializer made the retrier start over: the ended run goes on.
    package mutating func restarted() { run = .driven }

    /// Whether the driver has to wait before it moves on: the request is held, or nobody has asked for its result.
    package var holdsDriver: Bool { state == .suspended || state == .initialized }

    package var isCancelled: Bool { state == .cancelled }
}
