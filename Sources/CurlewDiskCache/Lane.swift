internal import CurlewLocks
internal import Dispatch

/// Runs work that blocks (files, SQLite) away from the transport's loop and from Swift's cooperative threads. What one lane
/// is given runs in order.
struct Lane: Sendable {
    private let queue: DispatchQueue
    private let handoff = Handoff()

    init(_ name: String) { queue = DispatchQueue(label: "curlew.diskcache." + name) }

    /// Runs `work` after what the lane was given before, without waiting for it.
    func enqueue(_ work: @escaping @Sendable () -> Void) { handoff(to: queue, work) }

    /// Runs `work` on the lane and waits without holding a thread. Cancellation does not cut it short: half a file operation
    /// is of no use.
    func run<R: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable () -> R
    ) async -> R {
        await handoff.run(on: queue, work)
    }

    // MARK: Lanes for bodies

    // Few for the process, whatever number of bodies is read and written.
    private static let bodies = (1...4).map { Lane("bodies.\($0)") }
    private static let turn = Lock(0)

    /// One of the lanes for bodies, each in its turn.
    static func nextForBodies() -> Lane {
        bodies[
            turn.withLock { turn -> Int in
                turn = (turn + 1) % bodies.count
                return turn
            }]
    }
}
