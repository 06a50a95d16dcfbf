import Foundation

/// Runs blocking work in a new thread. The tests share as many cooperative threads as there are processors, so on a
/// small machine two blocked threads would stop all tests.
func inOwnThread<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { answer in
        Thread.detachNewThread { answer.resume(returning: work()) }
    }
}
