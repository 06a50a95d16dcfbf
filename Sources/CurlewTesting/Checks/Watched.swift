internal import CurlewLocks

/// A value that a lock protects, and the tasks that wait for it to satisfy a condition.
final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        var condition: @Sendable (Value) -> Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var value: Value
        var lastTicket = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let state: Lock<State>

    init(_ value: Value) { state = Lock(State(value: value)) }

    /// A snapshot of the value.
    var value: Value { state.withLock { $0.value } }

    /// Changes the value and resumes the waiters whose conditions it then satisfies.
    @discardableResult
    func change<R: Sendable>(_ body: (inout Value) -> R) -> R {
        let (result, ready) = state.withLock { state in
            let result = body(&state.value)
            var ready: [CheckedContinuation<Bool, Never>] = []
            for (ticket, waiter) in state.waiters where waiter.condition(state.value) {
                ready.append(waiter.continuation)
                state.waiters[ticket] = nil
            }
            return (result, ready)
        }
        for continuation in ready { continuation.resume(returning: true) }
        return result
    }

    /// Returns true when the condition holds, false if the task is cancelled first.
    func wait(until condition: @escaping @Sendable (Value) -> Bool) async -> Bool {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let holds = state.withLock { state in
                    let holds = condition(state.value)
                    if !holds { state.waiters[ticket] = Waiter(condition: condition, continuation: continuation) }
                    return holds
                }
                if holds { return continuation.resume(returning: true) }
                // The cancellation handler may have run before the waiter was registered; it then found no waiter to
                // resume. If both calls of `leave` run, the first removes the waiter, so it is resumed once.
                if Task.isCancelled { leave(ticket) }
            }
        } onCancel: {
            leave(ticket)
        }
    }

    /// Waits with a deadline, multiplied by `CURLEW_TIME_FACTOR`; throws `failure` when it passes.
    func wait(
        atMost timeout: Duration,
        orThrow failure: @escaping @Sendable (Value) -> any Error,
        until condition: @escaping @Sendable (Value) -> Bool
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                guard await self.wait(until: condition) else { throw CancellationError() }
            }
            group.addTask {
                try await Task.sleep(for: timeout.asTestBound)
                throw failure(self.value)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func leave(_ ticket: Int) {
        state.withLock { $0.waiters.removeValue(forKey: ticket) }?.continuation.resume(returning: false)
    }
}

/// An append-only list of events that any thread may add to.
package final class Recorded<Element: Sendable>: Sendable {
    private let state = Lock<[Element]>([])

    package init() {}

    package func note(_ element: Element) { state.withLock { $0.append(element) } }

    package var all: [Element] { state.withLock { $0 } }
}
