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
/// nothing. A task that waits at a gate that is never opened waits until it is cancelled.
public final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen: Bool
        /// Tasks that wait now.
        var waiters = 0
        /// Tasks and connections that ever came to the closed gate.
        var arrivals = 0
        var observers: [@Sendable () -> Void] = []
    }

    private let state: Watched<State>

    /// Creates a gate, closed unless told otherwise.
    public init(isOpen: Bool = false) { state = Watched(State(isOpen: isOpen)) }

    /// Whether waiters pass.
    public var isOpen: Bool { state.value.isOpen }

    /// How many tasks wait now.
    public var waiterCount: Int { state.value.waiters }

    /// Opens the gate for all callers, present and later.
    public func open() {
        let observers = state.change { state in
            state.isOpen = true
            defer { state.observers = [] }
            return state.observers
        }
        for observer in observers { observer() }
    }

    /// Makes later comers wait again.
    public func close() { state.change { $0.isOpen = false } }

    /// Returns when the gate is open; throws when the task is cancelled first.
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

    /// Returns when `count` tasks or connections have come to the closed gate since it was made; throws when
    /// the task is cancelled first.
    public func waitForArrivals(count: Int) async throws(CancellationError) {
        guard await state.wait(until: { $0.arrivals >= count }) else { throw CancellationError() }
    }

    /// Calls `observer` when the gate opens; false, and no call, if it is open already.
    func whenOpen(_ observer: @escaping @Sendable () -> Void) -> Bool {
        state.change { state in
            guard !state.isOpen else { return false }
            state.observers.append(observer)
            state.arrivals += 1
            return true
        }
    }
}
