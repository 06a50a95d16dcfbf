import Foundation

/// Runs work that blocks in a thread of its own. The tests share as few cooperative threads as there are processors: two that
/// wait in them would stop all others.
func inOwnThread<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { answer in
        Thread.detachNewThread { answer.resume(returning: work()) }
    }
}
