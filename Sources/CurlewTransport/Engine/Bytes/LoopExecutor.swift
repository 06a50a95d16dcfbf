internal import Dispatch

/// Runs tasks on the loop thread, for the code between a connection and its user. Reading and writing then needs no
/// change of threads.
///
/// Such a task must neither block nor run code of the library's users.
final class LoopExecutor: TaskExecutor {
    private let loop: EngineLoop

    init(_ loop: EngineLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard !loop.send(.job(job, self)) else { return }
        // The loop has ended. The task still has to run, so that it learns of that and ends.
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
