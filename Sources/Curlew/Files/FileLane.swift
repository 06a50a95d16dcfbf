internal import CurlewCore
internal import CurlewLocks
internal import Dispatch

/// A serial queue for file work that may block (open, fsync, rename, unlink), away from the transport's loop and
/// Swift's cooperative threads.
///
/// The process has a fixed number of lanes, so that a thousand downloads that end together do not start a thousand
/// threads. An exchange of a download stays on one lane, so its work runs in order; the next exchange begins after that
/// and may have another lane.
struct FileLane: Sendable {
    private let queue: DispatchQueue
    private let handoff = Handoff()

    private static let lanes = (1...4).map { FileLane(queue: DispatchQueue(label: "curlew.files.\($0)")) }
    private static let turn = Lock(0)

    /// The next lane, in rotation.
    static func next() -> FileLane {
        let index = turn.withLock { turn -> Int in
            turn = (turn + 1) % lanes.count
            return turn
        }
        return lanes[index]
    }

    /// Runs `work` after all work that was added before. Returns at once.
    func enqueue(_ work: @escaping @Sendable () -> Void) { handoff(to: queue, work) }

    /// Waits for all work that was added before.
    func barrier() async { await carryOut {} }

    /// Runs `work` on the lane and waits for it.
    func carryOut(_ work: @escaping @Sendable () -> Void) async {
        await handoff.run(on: queue, work)
    }

    /// Runs `work` on the lane and waits for it without blocking a thread. Cancellation has no effect: half a file
    /// operation is useless.
    func run<R: Sendable>(
        _ work: @escaping @Sendable () throws(CurlewError) -> R
    ) async throws(CurlewError) -> R {
        let result = await handoff.run(on: queue) { () -> Result<R, CurlewError> in
            do throws(CurlewError) { return .success(try work()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
