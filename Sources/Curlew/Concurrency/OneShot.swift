internal import CurlewLocks

/// A value that is set once, and the tasks that wait for it.
///
/// Only the first `resolve` has an effect. Cancelling a waiting task ends only its wait.
package final class OneShot<Value: Sendable>: Sendable {
    private typealias Continuation = UnsafeContinuation<Value?, Never>

    private struct State {
        var value: Value?
        /// The first waiter. Most values have no other.
        var waiter: (number: Int, continuation: Continuation)?
        var others: [Int: Continuation] = [:]
        /// Waiters whose task was cancelled before their continuation was added.
        var abandoned: Set<Int> = []
        var lastWaiter = 0

        mutating func add(_ number: Int, _ continuation: Continuation) {
            if waiter == nil { waiter = (number, continuation) } else { others[number] = continuation }
        }

        mutating func remove(_ number: Int) -> Continuation? {
            guard waiter?.number == number else { return others.removeValue(forKey: number) }
            defer { waiter = nil }
            return waiter?.continuation
        }
    }

    private let state = Lock(State())

    package init() {}

    /// The value, once `resolve` was called.
    package var value: Value? { state.withLock { $0.value } }

    /// Sets the value. Returns `false` if there is one already, which is kept.
    @discardableResult
    package func resolve(_ value: Value) -> Bool {
        let waiting = state.withLock { state -> (Continuation?, [Int: Continuation])? in
            guard state.value == nil else { return nil }
            state.value = value
            return (exchange(&state.waiter, with: nil)?.continuation, exchange(&state.others, with: [:]))
        }
        guard let (first, others) = waiting else { return false }
        first?.resume(returning: value)
        for continuation in others.values { continuation.resume(returning: value) }
        return true
    }

    /// Returns the value, or `nil` if the waiting task is cancelled first.
    @discardableResult
    package func wait() async -> Value? {
        let waiter = newWaiter()
        return await withTaskCancellationHandler {
            await suspend(waiter)
        } onCancel: {
            abandon(waiter)
        }
    }

    /// Returns the value, even if the waiting task is cancelled.
    package func waitThroughCancellation() async -> Value {
        while true {
            // Only an abandoned wait ends without a value, and nothing abandons this one.
            if let value = await suspend(newWaiter()) { return value }
        }
    }

    private func newWaiter() -> Int {
        state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
    }

    private func suspend(_ waiter: Int) async -> Value? {
        #if THREAD_SANITIZER
        // A continuation that is resumed before its task suspends is ordered by an atomic in Swift's runtime that the
        // sanitizer does not see. It would report what was written before `resolve` as a race. Taking the lock once
        // more shows the order.
        defer { _ = value }
        #endif
        return await withUnsafeContinuation { continuation in
            let (isOver, value) = state.withLock { state -> (Bool, Value?) in
                if let value = state.value { return (true, value) }
                if state.abandoned.remove(waiter) != nil { return (true, nil) }
                state.add(waiter, continuation)
                return (false, nil)
            }
            if isOver { continuation.resume(returning: value) }
        }
    }

    private func abandon(_ waiter: Int) {
        let continuation = state.withLock { state -> Continuation? in
            if let continuation = state.remove(waiter) { return continuation }
            // The value was set first, or the continuation has not been added yet.
            if state.value == nil { state.abandoned.insert(waiter) }
            return nil
        }
        continuation?.resume(returning: nil)
    }
}
