public import Synchronization

/// A lock around a state that nearly always is empty, and that every request asks about on any thread: whether it is
/// empty is known without the lock.
public final class MostlyEmpty<State>: Sendable {
    private let state: Lock<State>
    private let isNothing: @Sendable (State) -> Bool
    @usableFromInline
    let isFilled: Atomic<Bool>

    /// Creates a lock around its state. `isNothing`: whether the state is empty.
    public init(_ state: sending State, isNothing: @escaping @Sendable (State) -> Bool) {
        self.isNothing = isNothing
        isFilled = Atomic(!isNothing(state))
        self.state = Lock(state)
    }

    /// Whether there is nothing. What another thread is putting in at this moment may not count yet.
    ///
    /// Stored with release order while the lock is held, so that the last store is that of the last state, and read with
    /// acquire order: a reader who finds nothing sees all that came before the removal. One who finds something takes the
    /// lock, and needs no more order than that gives.
    @inlinable
    public var isEmpty: Bool { !isFilled.load(ordering: .acquiring) }

    /// Runs `body` with exclusive access to the state. Keep it short, and never call foreign code in it.
    public func withLock<R>(_ body: (inout sending State) -> sending R) -> sending R {
        state.withLock { state in
            defer { isFilled.store(!isNothing(state), ordering: .releasing) }
            return body(&state)
        }
    }
}
