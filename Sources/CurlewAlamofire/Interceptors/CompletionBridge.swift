internal import Curlew

/// Calls a form with a completion handler for an `async` caller.
///
/// Only the first answer counts. Cancelling the calling task ends the wait at once; if the task is cancelled already,
/// the form is not called.
enum CompletionBridge {
    /// Returns the first answer, or `cancelled` if the task is cancelled first.
    static func answer<Answer: Sendable>(
        orIfCancelled cancelled: @autoclosure () -> Answer,
        _ start: (@escaping @Sendable (Answer) -> Void) -> Void
    ) async -> Answer {
        if Task.isCancelled { return cancelled() }
        let answer = OneShot<Answer>()
        start { answer.resolve($0) }
        // Most handlers answer before they return. Then the task need not suspend.
        if let given = answer.value { return given }
        return await answer.wait() ?? cancelled()
    }

    /// Returns the value of the first result, and throws its error, or `CancellationError`.
    static func value<Value: Sendable>(
        _ start: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
    ) async throws -> Value {
        let answer: Result<Value, any Error> = await answer(orIfCancelled: .failure(CancellationError()), start)
        return try answer.get()
    }
}

/// Runs an `async` form for a caller that passed a completion handler.
enum CompletionTask {
    static func start<Answer: Sendable>(
        _ completion: @escaping @Sendable (Answer) -> Void,
        _ work: @escaping @Sendable () async -> Answer
    ) {
        Task { completion(await work()) }
    }
}

/// Runs asynchronous work of a completion form in child tasks of the `async` call that led to it.
///
/// A completion form cannot wait. The `async` method that has called it does the work instead, so that cancelling its
/// task also cancels the work. Cancelling would not reach an unstructured task.
struct ChildWork: Sendable {
    private let jobs: AsyncStream<Job>.Continuation

    private typealias Job = @Sendable () async -> Void

    /// Runs `call`, and the work that it starts. Once `call` has returned, work that still runs is cancelled and
    /// awaited.
    static func during<Answer: Sendable>(_ call: @escaping @Sendable (ChildWork) async -> Answer) async -> Answer {
        let (pending, jobs) = AsyncStream<Job>.makeStream()
        async let answer = {
            defer { jobs.finish() }
            return await call(ChildWork(jobs: jobs))
        }()
        await withDiscardingTaskGroup { group in
            for await job in pending { group.addTask { await job() } }
            group.cancelAll()
        }
        return await answer
    }

    /// Runs the work and passes its answer on. Once `call` has returned, the work runs in an unstructured task.
    func start<Answer: Sendable>(
        _ completion: @escaping @Sendable (Answer) -> Void,
        _ work: @escaping @Sendable () async -> Answer
    ) {
        let result = jobs.yield { completion(await work()) }
        if case .terminated = result { CompletionTask.start(completion, work) }
    }
}
