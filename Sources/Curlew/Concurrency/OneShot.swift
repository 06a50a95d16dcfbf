internal import CurlewLocks

/// A value that comes once, and the tasks that wait for it.
///
/// The first `resolve` counts. Cancelling a waiting task ends its wait and nothing else.
final class OneShot<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Int: UnsafeContinuation<Value?, Never>] = [:]
        /// Those whose task was cancelled before their continuation was there.
        var abandoned: Set<Int> = []
        var lastWaiter = 0
    }

    private let state = Lock(State())

    /// What it was resolved with, if it was.
    var value: Value? { state.withLock { $0.value } }

    /// False where there is a value already, which stays.
    @discardableResult
    func resolve(_ value: Value) -> Bool {
        let waiters = state.withLock { state -> [Int: UnsafeContinuation<Value?, Never>]? in
            guard state.value == nil else { return nil }
            state.value = value
            return exchange(&state.waiters, with: [:])
        }
        guard let waiters else { return false }
        for continuation in waiters.values { continuation.resume(returning: value) }
        return true
    }

    /// The value; nil where the waiting task was cancelled before it came.
    @discardableResult
    func wait(isolation: isolated (any Actor)? = #isolation) async -> Value? {
        let waiter = newWaiter()
        return await withTaskCancellationHandler {
            await suspend(waiter)
        } onCancel: {
            abandon(waiter)
        }
    }

    /// The value, also where the waiting task is cancelled.
    func waitThroughCancellation() async -> Value? { await suspend(newWaiter()) }

    private func newWaiter() -> Int {
        state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
    }

    private func suspend(_ waiter: Int, isolation: isolated (any Actor)? = #isolation) async -> Value? {
        await withUnsafeContinuation(isolation: isolation) { continuation in
            let (isOver, value) = state.withLock { state -> (Bool, Value?) in
                if let value = state.value { return (true, value) }
                if state.abandoned.remove(waiter) != nil { return (true, nil) }
                state.waiters[waiter] = continuation
                return (false, nil)
            }
            if isOver { continuation.resume(returning: value) }
        }
    }

    private func abandon(_ waiter: Int) {
        let continuation = state.withLock { state -> UnsafeContinuation<Value?, Never>? in
            if let continuation = state.waiters.removeValue(forKey: waiter) { return continuation }
            // The value was there first, or the continuation has yet to come.
            if state.value == nil { state.abandoned.insert(waiter) }
            return nil
        }
        continuation?.resume(returning: nil)
    }
}
