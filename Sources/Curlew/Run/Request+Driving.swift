internal import CurlewCore
internal import CurlewFailures
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// What a run asks and tells its request.
extension Request {
    /// What the next attempt goes by, read in one step.
    func attemptBegins() -> AttemptWishes { record.withLock { $0.wishes(in: context) } }

    /// The session's, then the request's own.
    var retriers: [any RequestRetrier] {
        let own = record.withLock { $0.extras?.options.retriers ?? [] }
        guard context.hasInterceptor, let interceptor = context.interceptor else { return own }
        return [interceptor] + own
    }

    var timeouts: Timeouts { record.withLock { $0.extras?.options.timeouts } ?? context.configuration.timeouts }

    /// Most bytes of a body in memory, or of a piece of a stream.
    var bodyLimit: Int {
        record.withLock { $0.extras?.options.maximumBodySize } ?? context.configuration.maximumBodySize
    }

    /// What the cancelled request ends with.
    var cancellation: CurlewError { record.withLock { $0.cancellation } ?? .explicitlyCancelled }

    /// A try has failed; retriers look at it.
    func failed(with error: CurlewError) { record.withLock { $0.error = $0.error ?? error } }

    /// No retrier wants another response than the one that there is.
    func isAcceptedAfterAll() {
        // The error goes without the lock: it may hold one of the user's.
        _ = record.withLock { exchange(&$0.error, with: nil) }
    }

    /// Begins the next attempt, without what the last one brought. False if the request was cancelled in the meantime.
    func prepareForRetry() -> Bool {
        record.withLock { record in
            guard !record.isCancelled else { return false }
            record.history.beginNextAttempt()
            record.transfer.body = .none
            record.transfer.download = TransferCount()
            record.handlers.startOver()
            return true
        }
    }

    /// Waits while the request is suspended, as long as the total clock allows.
    // Never inlined, as `Run` says of its steps.
    @inline(never)
    func untilLetGo(within budget: TimeoutBudget) async throws(CurlewError) {
        try await budget.limitWait(.queue) { await self.untilLetGo() }
    }

    /// Returns when the driver is not held any more, or its task is cancelled.
    private func untilLetGo() async {
        while let hold = record.withLock({ $0.hold() }) {
            guard await hold.wait() != nil else { return }
        }
    }

    // MARK: The driver in a user's task

    /// What an awaiter finds, in one step.
    struct Awaiting {
        let action: RequestRecord.DriveAction
        let link: SessionLink
        let wishes: AttemptWishes
    }

    // Never inlined, as `Run` says of its steps.
    @inline(never)
    func awaited() -> Awaiting {
        record.withLock { record in
            Awaiting(action: record.awaited(), link: record.run.link, wishes: record.wishes(in: context))
        }
    }

    /// The result of the one run: the first who asks carries it out, the others wait for it.
    func outcome(checksStatus: Bool) async -> RunResult { await outcome(of: awaited(), checksStatus: checksStatus) }

    /// `value` is what the caller makes of it: where it drives, retriers are asked if that fails.
    func outcome(
        of awaiting: Awaiting,
        checksStatus: Bool,
        making value: (any TerminalValue)? = nil
    ) async -> RunResult {
        switch awaiting.action {
        case .drive(let becameResumed, let startsHandlers):
            if startsHandlers { HandlerRun.start(self, drives: false) }
            if becameResumed {
                awaiting.wishes.events?.emit { [self] in $0.requestDidResume(self) }
            }
            if case .shelved = awaiting.link { unshelve() }
            guard let session = awaiting.link.session else {
                return await ended(with: RunResult(error: .sessionDeinitialized))
            }
            // What is set while a request that was set up ahead is waited for counts.
            let wishes = isSetUpAhead ? nil : awaiting.wishes
            let rules = RunRules(checksStatus: checksStatus, ownsTask: false)
            let run = Run(request: self, session: session, rules: rules, firstWishes: wishes)
            return await withTaskCancellationHandler {
                var result = await run.result()
                if let value { await make(value, of: &result, run) }
                if hasToCleanUp { await cleanUp() }
                run.leave()
                settle(result, isLast: true)
                return result
            } onCancel: {
                self.cancel()
            }
        case .join:
            // Set up ahead, failed and tried again: it waits until its result is wanted.
            if isInitialized { resume() }
            return await joined()
        case .ended(let result): return result
        }
    }

    /// A run that could not begin.
    private func ended(with result: RunResult) async -> RunResult {
        if hasToCleanUp { await cleanUp() }
        settle(result, isLast: true)
        return result
    }

    /// Makes the caller's value of the result, and of others as long as a retrier wants that because it fails.
    private func make(_ value: any TerminalValue, of result: inout RunResult, _ run: Run) async {
        while result.error == nil, let failure = await value.make(of: result) {
            switch await run.decideRetry(after: failure) {
            case .again: result = await run.result()
            case .end: return
            case .endWith(let error): return value.fail(with: error)
            }
        }
    }

    /// Waits for a run that another awaiter drives. Cancelling this wait ends nothing but the wait.
    func joined() async -> RunResult {
        let (result, awaited) = record.withLock { record -> (RunResult?, OneShot<RunResult>?) in
            if let result = record.run.result { return (result, nil) }
            return (nil, record.resultToWaitFor())
        }
        if let result { return result }
        return await awaited?.wait() ?? RunResult(error: .explicitlyCancelled)
    }
}
