internal import CurlewLocks
internal import Dispatch

/// A serial queue for work that blocks (files, SQLite), away from the transport's loop and Swift's cooperative threads.
struct Lane: Sendable {
    private let queue: DispatchQueue
    private let handoff = Handoff()

    init(_ name: String) { queue = DispatchQueue(label: "curlew.diskcache." + name) }

    /// Runs `work` after all work that was added before. Returns at once.
    func enqueue(_ work: @escaping @Sendable () -> Void) { handoff(to: queue, work) }

    /// Runs `work` on the lane and waits for it without blocking a thread. Cancellation has no effect: half a file
    /// operation is useless.
    func run<R: Sendable>(
        _ work: @escaping @Sendable () -> R
    ) async -> R {
        await handoff.run(on: queue, work)
    }

    // MARK: Lanes for bodies

    // A fixed number of lanes for the process, even if many bodies are read and written.
    private static let bodies = (1...4).map { Lane("bodies.\($0)") }
    private static let turn = Lock(0)

    /// The next of the lanes for bodies, in rotation.
    static func nextForBodies() -> Lane {
        bodies[
            turn.withLock { turn -> Int in
                turn = (turn + 1) % bodies.count
                return turn
            }]
    }
}
