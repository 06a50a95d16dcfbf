internal import CurlewCore
internal import CurlewLocks
internal import Dispatch

/// Runs file work that may block (open, fsync, rename, unlink) away from the transport's loop and from
/// Swift's cooperative threads.
///
/// There are few lanes for the whole process, so a thousand downloads that end together do not make a
/// thousand threads. One download stays on one lane: what it enqueues runs in order.
struct FileLane: Sendable {
    private let queue: DispatchQueue
    private let handoff = Handoff()

    private static let lanes = (1...4).map { FileLane(queue: DispatchQueue(label: "curlew.files.\($0)")) }
    private static let turn = Lock(0)

    /// One of the lanes, each in its turn.
    static func next() -> FileLane {
        let index = turn.withLock { turn -> Int in
            turn = (turn + 1) % lanes.count
            return turn
        }
        return lanes[index]
    }

    /// Runs `work` after what this lane was given before, without waiting for it.
    func enqueue(_ work: @escaping @Sendable () -> Void) { handoff(to: queue, work) }

    /// Waits until what the lane was given before has run.
    func barrier(isolation: isolated (any Actor)? = #isolation) async { await carryOut {} }

    /// Runs `work` on the lane and waits for it.
    func carryOut(isolation: isolated (any Actor)? = #isolation, _ work: @escaping @Sendable () -> Void) async {
        await handoff.run(on: queue, work)
    }

    /// Runs `work` on the lane and waits without holding a thread. Cancellation does not cut it short:
    /// half a file operation is of no use.
    func run<R: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable () throws(CurlewError) -> R
    ) async throws(CurlewError) -> R {
        let result = await handoff.run(on: queue) { () -> Result<R, CurlewError> in
            do throws(CurlewError) { return .success(try work()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
