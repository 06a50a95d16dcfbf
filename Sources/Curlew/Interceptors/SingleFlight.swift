internal import CurlewLocks

/// Work that several tasks wait for, and that outlives each of them.
///
/// One of the few places that start an unstructured task: shared work belongs to none of its waiters, and cancelling a
/// waiter must end that wait and nothing else.
final class SingleFlight<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        var cancelled: Set<Int> = []
        var nextWaiter = 0
    }

    private let state = Lock(State())

    /// Starts `work`. Call it once.
    func start(_ work: @escaping @Sendable () async -> Value) {
        Task { settle(await work()) }
    }

    /// Returns the value, or `nil` as soon as the waiting task is cancelled.
    func value() async -> Value? {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { join($0, as: waiter) }
        } onCancel: {
            leave(waiter)
        }
    }

    private func settle(_ value: Value) {
        let waiters = state.withLock { state in
            state.value = value
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    private func join(_ continuation: CheckedContinuation<Value?, Never>, as waiter: Int) {
        let early: Value?? = state.withLock { state in
            if state.cancelled.remove(waiter) != nil { return .some(nil) }
            if let value = state.value { return .some(value) }
            state.waiters[waiter] = continuation
            return nil
        }
        if let early { continuation.resume(returning: early) }
    }

    private func leave(_ waiter: Int) {
        let continuation = state.withLock { state in
            // The cancellation handler may run before `join` has stored the continuation. `join` then finds the waiter
            // in `cancelled`, and resumes it at once.
            if state.waiters[waiter] == nil, state.value == nil { state.cancelled.insert(waiter) }
            return state.waiters.removeValue(forKey: waiter)
        }
        continuation?.resume(returning: nil)
    }
}

extension Result where Failure == any Error {
    package static func of(_ work: () async throws -> Success) async -> Self {
        do { return .success(try await work()) } catch { return .failure(error) }
    }
}
