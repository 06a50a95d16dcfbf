internal import CurlewCore
internal import CurlewLocks

/// The part of the first attempt that is done before the request starts, if the session asks for that. A class, so that
/// an absent value costs one pointer in every request.
final class Preparation {
    /// The identifier of the exchange.
    let task: TaskIdentifier?
    /// The task that sets `result`.
    let work: Task<Void, Never>
    // Both are protected by the request's lock.
    var result: Result<DescribedRequest, CurlewError>?
    /// The exchange, once monitors know of it.
    var exchange: ActiveExchange?

    init(task: TaskIdentifier?, work: Task<Void, Never>) {
        self.task = task
        self.work = work
    }
}

extension Request {
    /// Prepares the first attempt, if the session has eager set-up.
    func setUp() -> Self {
        switch context.requestSetup {
        case .lazy: break
        case .eager:
            let name = reservedName()
            shelve()
            // The task is created under the lock: a run that starts on another thread finds it.
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
        guard let session = record.withLock({ $0.session }) else { throw .sessionReleased }
        return session
    }

    private func prepare(as name: Result<TaskIdentifier, CurlewError>) async {
        let result: Result<DescribedRequest, CurlewError>
        do throws(CurlewError) {
            let task = try name.get()
            var prepared = try await prepareInSession()
            // `prepareInSession()` has released the session, which may end as soon as monitors know of the exchange.
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
            if case .released? = error.detail { record.ownExtras.unusedTask = try? name.get() }
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

    // MARK: Called by the run

    /// Whether the session has eager set-up.
    var isSetUpAhead: Bool { context.requestSetup == .eager }

    /// Waits for the preparation.
    func untilPrepared() async { await record.withLock { $0.run.preparation?.work }?.value }

    /// Waits for the preparation. If the total timeout expires first, cancels it and throws.
    func untilPrepared(within budget: TimeoutBudget) async throws(CurlewError) {
        guard let work = record.withLock({ $0.run.preparation?.work }) else { return }
        try await budget.limitWait(.adaptation) {
            // A wait for a task's value does not end when the waiting task is cancelled, so the awaited task is
            // cancelled.
            await withTaskCancellationHandler {
                await work.value
            } onCancel: {
                work.cancel()
            }
        }
    }

    /// The identifier of the exchange that was set up ahead.
    var earlyTask: TaskIdentifier? { record.withLock { $0.run.preparation?.task } }

    /// Returns the result of the preparation, once.
    func takePreparation() -> Result<DescribedRequest, CurlewError>? {
        record.withLock { record in
            guard let preparation = record.run.preparation else { return nil }
            return exchange(&preparation.result, with: nil)
        }
    }
}

extension Run {
    /// Waits for the preparation. The total timeout starts here.
    func untilPrepared() async throws(CurlewError) {
        guard let total = request.timeouts.total else { return await request.untilPrepared() }
        budget = TimeoutBudget(total: total, started: .now)
        try await request.untilPrepared(within: budget)
    }
}
