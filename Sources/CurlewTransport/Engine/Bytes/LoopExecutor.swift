internal import Dispatch

/// Runs tasks on the loop's thread: those that stand between a connection and its user. What they take from the connection, and
/// what they give it, then costs no change of threads.
///
/// Such a task must not block, and must not run code of the library's users.
final class LoopExecutor: TaskExecutor {
    private let loop: EngineLoop

    init(_ loop: EngineLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard !loop.send(.job(job, self)) else { return }
        // The loop has ended: the task has yet to learn of that, and to end.
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
