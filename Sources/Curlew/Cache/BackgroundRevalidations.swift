internal import CurlewCore
internal import CurlewLocks

/// Asks servers about responses that were served stale, behind their readers' backs.
///
/// This file is one of the few places that start an unstructured task: no request waits for the answer. The session owns
/// the tasks, few at a time and one for a key, and ends them when it drains or is invalidated.
final class BackgroundRevalidations: Sendable {
    private struct State: Sendable {
        var running: [CacheKey: Task<Void, Never>] = [:]
        /// The starts whose work has not ended, also those that are not yet in `running`. Each has a number of its own: the
        /// next one of a key may be there before a starter that was held up goes on.
        var begun: [CacheKey: Int] = [:]
        var starts = 0
        var isClosed = false
    }

    private let state = Lock(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    deinit { for task in state.withLock({ Array($0.running.values) }) { task.cancel() } }

    /// Starts the work, unless there is enough, or some for that key already.
    func start(_ key: CacheKey, _ work: @escaping @Sendable () async -> Void) {
        guard let number = begin(key) else { return }
        let task = Task { [weak self] in
            await UserCode.call(by: .revalidation, work)
            self?.ended(key, number)
        }
        keep(task, key, number)
    }

    /// The number of a start; nil where there is enough, or some for that key already.
    func begin(_ key: CacheKey) -> Int? {
        state.withLock { state -> Int? in
            guard !state.isClosed, state.begun.count < limit, state.begun[key] == nil else { return nil }
            state.starts += 1
            state.begun[key] = state.starts
            return state.starts
        }
    }

    /// The task of a start, unless its work has ended.
    func keep(_ task: Task<Void, Never>, _ key: CacheKey, _ number: Int) {
        let isTooLate = state.withLock { state in
            if state.begun[key] == number { state.running[key] = task }
            return state.isClosed
        }
        if isTooLate { task.cancel() }
    }

    func ended(_ key: CacheKey, _ number: Int) {
        _ = state.withLock { state -> Task<Void, Never>? in
            guard state.begun[key] == number else { return nil }
            state.begun[key] = nil
            return state.running.removeValue(forKey: key)
        }
    }

    /// Waits for what runs.
    func settle() async {
        for task in state.withLock({ Array($0.running.values) }) { await task.value }
    }

    /// Ends what runs, and starts nothing any more. Code that a revalidation calls may end the session: it does not wait for the
    /// revalidations, which cannot end before it has returned.
    func close() async {
        let tasks = state.withLock { state in
            state.isClosed = true
            return Array(state.running.values)
        }
        for task in tasks { task.cancel() }
        if UserCode.isInRevalidation { return }
        for task in tasks { await task.value }
    }
}
