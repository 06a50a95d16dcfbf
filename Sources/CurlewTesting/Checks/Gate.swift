/// A latch that a test opens to let waiting code continue.
///
///     let gate = Gate()
///     server.script("/slow", .text("at last").stalling(until: gate, at: .beforeHead))
///     async let answer = session.request(server.url("/slow")).string()
///     try await server.waitForRequests(count: 1)
///     gate.open()
///     #expect(try await answer == "at last")
///
/// Use it instead of sleeping, so that the test decides the order of events. Opening an open gate has no effect. A task
/// that waits at a gate that is never opened waits until it is cancelled.
public final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen: Bool
        /// The number of tasks that are waiting.
        var waiters = 0
        /// The number of tasks and connections that have arrived while the gate was closed, since its creation.
        var arrivals = 0
        var observers: [@Sendable () -> Void] = []
    }

    private let state: Watched<State>

    /// Creates a gate, closed by default.
    public init(isOpen: Bool = false) { state = Watched(State(isOpen: isOpen)) }

    /// Whether the gate is open.
    public var isOpen: Bool { state.value.isOpen }

    /// The number of waiting tasks. Connections of a `TestServer` are not counted.
    public var waiterCount: Int { state.value.waiters }

    /// Opens the gate for present and later waiters.
    public func open() {
        let observers = state.change { state in
            state.isOpen = true
            defer { state.observers = [] }
            return state.observers
        }
        for observer in observers { observer() }
    }

    /// Closes the gate for later waiters.
    public func close() { state.change { $0.isOpen = false } }

    /// Returns when the gate is open; throws if the task is cancelled first.
    public func wait() async throws(CancellationError) {
        if isOpen { return }
        state.change {
            $0.waiters += 1
            $0.arrivals += 1
        }
        let isThrough = await state.wait { $0.isOpen }
        state.change { $0.waiters -= 1 }
        if !isThrough { throw CancellationError() }
    }

    /// Returns when `count` tasks or connections have arrived at the closed gate since its creation; throws if the task
    /// is cancelled first.
    public func waitForArrivals(count: Int) async throws(CancellationError) {
        guard await state.wait(until: { $0.arrivals >= count }) else { throw CancellationError() }
    }

    /// Calls `observer` when the gate opens. If it is already open, returns false and does not call `observer`.
    func whenOpen(_ observer: @escaping @Sendable () -> Void) -> Bool {
        state.change { state in
            guard !state.isOpen else { return false }
            state.observers.append(observer)
            state.arrivals += 1
            return true
        }
    }
}
