internal import CurlewCore
internal import CurlewFailures
internal import CurlewLocks

/// The part of a request's first try that happens ahead of its start, where the session wants that. A class, because
/// few do, and every request's record would have the room for it.
final class Preparation {
    /// The name of the exchange.
    let task: TaskIdentifier?
    /// Ends when the result is there.
    let work: Task<Void, Never>
    // Both are touched under the request's lock alone.
    var result: Result<DescribedRequest, CurlewError>?
    /// Once monitors know of it.
    var exchange: ActiveExchange?

    init(task: TaskIdentifier?, work: Task<Void, Never>) {
        self.task = task
        self.work = work
    }
}

extension Request {
    /// Prepares the first try now, if the session is one that does.
    func setUp() -> Self {
        switch context.requestSetup {
        case .lazy: break
        case .eager:
            let name = reservedName()
            shelve()
            // Under the lock: a run that starts meanwhile finds it.
            record.withLock { record in
                record.run = .prepared(
                    record.run.link, Preparation(task: try? name.get(), work: Task { await self.prepare(as: name) }))
            }
        }
        return self
    }

    private func reservedName() -> Result<TaskIdentifier, CurlewError> {
        Result { () throws(CurlewError) in try inSession().reserveTask() }
    }

    private func inSession() throws(CurlewError) -> Session {
        guard let session = record.withLock({ $0.session }) else { throw .sessionDeinitialized }
        return session
    }

    private func prepare(as name: Result<TaskIdentifier, CurlewError>) async {
        let result: Result<DescribedRequest, CurlewError>
        do throws(CurlewError) {
            let task = try name.get()
            var prepared = try await prepareInSession()
            // From here on the session is not needed, and may go as soon as monitors know of the exchange.
            let isNoted = if case .described(let isNoted) = prepared.announcement { isNoted } else { true }
            try created(prepared.visible, isNoted: isNoted, eventSink)
            prepared.announcement = begins(task, as: .created, eventSink) ? .created : .none
            result = .success(prepared)
        } catch {
            result = .failure(isCancelled ? cancellation : error)
        }
        let mayRun = record.withLock { record in
            record.run.preparation?.result = result
            guard case .failure(let error) = result else { return false }
            if error.isSessionDeinitializedError { record.ownExtras.unusedTask = try? name.get() }
            return record.setUpFailed()
        }
        guard mayRun else { return }
        unshelve()
        HandlerRun.start(self, drives: true)
    }

    private func prepareInSession() async throws(CurlewError) -> DescribedRequest {
        let session = try inSession()
        let run = Run(request: self, session: session, rules: RunRules(checksStatus: false, ownsTask: true))
        run.describesAhead()
        return try await run.described()
    }

    // MARK: What a run takes over

    /// Whether there may be something that was done ahead.
    var isSetUpAhead: Bool { context.requestSetup == .eager }

    /// Waits for what was begun ahead.
    func untilPrepared() async { await record.withLock { $0.run.preparation?.work }?.value }

    /// The same, as long as the total clock allows: then what was begun is given up.
    func untilPrepared(within budget: TimeoutBudget) async throws(CurlewError) {
        guard let work = record.withLock({ $0.run.preparation?.work }) else { return }
        try await budget.limitWait(.adaptation) {
            // Waiting for a task's value does not end by being cancelled: the task has to.
            await withTaskCancellationHandler {
                await work.value
            } onCancel: {
                work.cancel()
            }
        }
    }

    /// The name of the exchange that was set up ahead.
    var earlyTask: TaskIdentifier? { record.withLock { $0.run.preparation?.task } }

    /// Its result, once.
    func takePreparation() -> Result<DescribedRequest, CurlewError>? {
        record.withLock { record in
            guard let preparation = record.run.preparation else { return nil }
            return exchange(&preparation.result, with: nil)
        }
    }
}

extension Run {
    /// What was begun ahead of the start comes first, as long as the total clock allows.
    func untilPrepared() async throws(CurlewError) {
        guard let total = request.timeouts.total else { return await request.untilPrepared() }
        budget = TimeoutBudget(total: total, started: .now)
        try await request.untilPrepared(within: budget)
    }
}
