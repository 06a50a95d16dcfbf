/// Asynchronous work that a completion handler waits for, in child tasks of the call that led to it.
///
/// A method with a completion handler cannot wait. Where it is called by an `async` method of Curlew's, that method carries the
/// work out: cancelling its task reaches the work, which a task of its own would keep from being cancelled.
struct ChildWork: Sendable {
    private let jobs: AsyncStream<Job>.Continuation

    private typealias Job = @Sendable () async -> Void

    /// Carries out what `call` starts, until it returns.
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

    /// After the end of the call nothing waits for the answer: then it gets a task of its own.
    func start<Answer: Sendable>(
        _ completion: @escaping @Sendable (Answer) -> Void,
        _ work: @escaping @Sendable () async -> Answer
    ) {
        let result = jobs.yield { completion(await work()) }
        if case .terminated = result { CompletionTask.start(completion, work) }
    }
}
