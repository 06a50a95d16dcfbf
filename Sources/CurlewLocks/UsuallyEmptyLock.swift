public import Synchronization

/// A lock whose state is empty most of the time. Whether it is empty can be asked without taking the lock, because
/// every request of a session asks, on any thread.
public final class UsuallyEmptyLock<State>: Sendable {
    private let state: Lock<State>
    private let isStateEmpty: @Sendable (State) -> Bool
    @usableFromInline
    let isFilled: Atomic<Bool>

    /// Creates a lock with its state. `isEmpty` returns whether a state is empty.
    public init(_ state: sending State, isEmpty: @escaping @Sendable (State) -> Bool) {
        isStateEmpty = isEmpty
        isFilled = Atomic(!isEmpty(state))
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
            defer { isFilled.store(!isStateEmpty(state), ordering: .releasing) }
            return body(&state)
        }
    }
}
