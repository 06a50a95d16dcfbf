internal import CurlewCore
internal import CurlewLocks

/// Asks servers about responses that were served stale, behind their readers' backs.
///
/// This file is one of the few places that start an unstructured task: no request waits for the answer. The session owns
/// the tasks, few at a time and one for a key, and ends them when it drains or is invalidated.
final class BackgroundRevalidations: Sendable {
    private struct State: Sendable {
        var running: [CacheKey: Task<Void, Never>] = [:]
        /// Begun, and not yet in `running`.
        var begun: Set<CacheKey> = []
        var isClosed = false
    }

    private let state = Lock(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    deinit { for task in state.withLock({ Array($0.running.values) }) { task.cancel() } }

    /// Starts the work, unless there is enough, or some for that key already.
    func start(_ key: CacheKey, _ work: @escaping @Sendable () async -> Void) {
        let isTaken = state.withLock { state in
            !state.isClosed && state.begun.count < limit && state.begun.insert(key).inserted
        }
        guard isTaken else { return }
        let task = Task { [weak self] in
            await work()
            self?.ended(key)
        }
        let isTooLate = state.withLock { state in
            if state.begun.contains(key) { state.running[key] = task }
            return state.isClosed
        }
        if isTooLate { task.cancel() }
    }

    private func ended(_ key: CacheKey) {
        _ = state.withLock { state in
            state.begun.remove(key)
            return state.running.removeValue(forKey: key)
        }
    }

    /// Waits for what runs.
    func settle() async {
        for task in state.withLock({ Array($0.running.values) }) { await task.value }
    }

    /// Ends what runs, and starts nothing any more.
    func close() async {
        let tasks = state.withLock { state in
            state.isClosed = true
            return Array(state.running.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
