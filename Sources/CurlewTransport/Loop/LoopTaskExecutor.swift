/// Runs tasks that want it on the loop's thread, between its turns. Once the loop has ended they go where tasks go
/// that want nothing.
final class LoopTaskExecutor: TaskExecutor, Sendable {
    private let loop: LoopExecutor

    init(_ loop: LoopExecutor) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A queued task keeps its executor.
        if !loop.send(.taskJob(job, asUnownedTaskExecutor())) { globalConcurrentExecutor.enqueue(job) }
    }

    func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
}
