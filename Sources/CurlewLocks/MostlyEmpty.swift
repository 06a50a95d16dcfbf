public import Synchronization

/// A lock with a state that is nearly always empty, and whose emptiness every request checks on any thread. The check
/// does not take the lock.
public final class MostlyEmpty<State>: Sendable {
    private let state: Lock<State>
    private let isNothing: @Sendable (State) -> Bool
    @usableFromInline
    let isFilled: Atomic<Bool>

    /// Creates a lock with its state. `isNothing` returns whether a state is empty.
    public init(_ state: sending State, isNothing: @escaping @Sendable (State) -> Bool) {
        self.isNothing = isNothing
        isFilled = Atomic(!isNothing(state))
        self.state = Lock(state)
    }

    /// Whether the state is empty. A change that another thread is making at this moment may be missed.
    ///
    /// `withLock` stores the flag with release order while it holds the lock, so the last store belongs to the last
    /// state. The flag is read with acquire order: a reader that finds the state empty sees everything that happened
    /// before it was emptied. A reader that finds the state filled takes the lock, whose order is sufficient.
    @inlinable
    public var isEmpty: Bool { !isFilled.load(ordering: .acquiring) }

    /// Runs `body` with exclusive access to the state. Keep it short, and never call user code in it.
    public func withLock<R>(_ body: (inout sending State) -> sending R) -> sending R {
        state.withLock { state in
            defer { isFilled.store(!isNothing(state), ordering: .releasing) }
            return body(&state)
        }
    }
}
