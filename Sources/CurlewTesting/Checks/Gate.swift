internal import CurlewLocks

/// Something that a test opens when it wants others to go on.
///
///     let gate = Gate()
///     server.script("/slow", .text("at last").stalling(until: gate, at: .beforeHead))
///     async let answer = session.request(server.url("/slow")).string()
///     try await server.waitForRequests(count: 1)
///     gate.open()
///     #expect(try await answer == "at last")
///
/// It stands in for a clock: nothing sleeps, and the test decides the order. Opening an open gate does
/// nothing. Who waits at a gate that nobody opens waits until its task is cancelled.
public final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen: Bool
        var lastTicket = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var observers: [@Sendable () -> Void] = []
        var counters: [(needed: Int, CheckedContinuation<Void, Never>)] = []
        /// Everybody who ever came to the closed gate.
        var arrivals = 0
    }

    private let state: Lock<State>

    /// Makes a gate, closed unless told otherwise.
    public init(isOpen: Bool = false) { state = Lock(State(isOpen: isOpen)) }

    /// Whether waiters pass.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// How many tasks wait now.
    public var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Lets everybody through, now and later.
    public func open() {
        let (waiters, observers) = state.withLock { state in
            state.isOpen = true
            defer {
                state.waiters = [:]
                state.observers = []
            }
            return (Array(state.waiters.values), state.observers)
        }
        for waiter in waiters { waiter.resume(returning: true) }
        for observer in observers { observer() }
    }

    /// Makes later comers wait again.
    public func close() { state.withLock { $0.isOpen = false } }

    /// Returns when the gate is open; throws when the task is cancelled first.
    public func wait() async throws(CancellationError) {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        let passed = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(continuation, ticket)
                // The handler may have run before the continuation was there to be found.
                if Task.isCancelled { leave(ticket) }
            }
        } onCancel: {
            leave(ticket)
        }
        if !passed { throw CancellationError() }
    }

    /// Returns when `count` tasks or connections have come to the closed gate since it was made.
    public func waitForArrivals(count: Int) async {
        await withCheckedContinuation { continuation in
            let isEnough = state.withLock { state in
                if state.arrivals < count { state.counters.append((count, continuation)) }
                return state.arrivals >= count
            }
            if isEnough { continuation.resume() }
        }
    }

    private func enqueue(_ continuation: CheckedContinuation<Bool, Never>, _ ticket: Int) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiters[ticket] = continuation }
            return state.isOpen
        }
        if isOpen { continuation.resume(returning: true) } else { countArrival() }
    }

    private func leave(_ ticket: Int) {
        state.withLock { $0.waiters.removeValue(forKey: ticket) }?.resume(returning: false)
    }

    private func countArrival() {
        let reached = state.withLock { state in
            state.arrivals += 1
            let arrivals = state.arrivals
            let reached = state.counters.filter { $0.needed <= arrivals }.map(\.1)
            state.counters.removeAll { $0.needed <= arrivals }
            return reached
        }
        for continuation in reached { continuation.resume() }
    }

    /// Calls `observer` when the gate opens; false, and no call, if it is open already.
    func whenOpen(_ observer: @escaping @Sendable () -> Void) -> Bool {
        let waits = state.withLock { state in
            if !state.isOpen { state.observers.append(observer) }
            return !state.isOpen
        }
        if waits { countArrival() }
        return waits
    }
}
