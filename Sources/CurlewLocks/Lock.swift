#if canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#endif

/// A mutual-exclusion lock around the state that it protects. Copies share both.
///
/// It stands on a pthread mutex: `Synchronization.Mutex` is invisible to the thread sanitizer on
/// Linux (it reports races that are none) and is slower there. State and mutex are one allocation, and
/// everything is inlinable, because every request makes a lock and takes it many times.
///
/// A lock that protects no value of its own is `Lock(false)`, not `Lock(())`: the thread sanitizer needs a state
/// with a size to tell its accesses from others.
public struct Lock<State>: @unchecked Sendable {  // SAFETY: the state is touched only while the mutex is held.
    @usableFromInline
    let box: LockBox<State>

    /// Makes a lock around its state.
    @inlinable
    public init(_ state: sending State) { self.init(making: { state }) }

    /// A large state is made where it stays: a copy would cost more than the lock.
    @inlinable
    public init(making state: () -> State) {
        let made = LockBox<State>.create(minimumCapacity: 1) { _ in state() }
        box = unsafeDowncast(made, to: LockBox<State>.self)  // SAFETY: `create` makes the class it is called on.
        let code = pthread_mutex_init(mutex, nil)
        precondition(code == 0, "pthread_mutex_init failed: \(code)")
    }

    /// Runs `body` with exclusive access to the state. Keep it short, and never call foreign code in it.
    @inlinable
    public func withLock<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> sending R) throws(E) -> sending R {
        let mutex = mutex
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state.pointee)
    }

    // SAFETY of both: the addresses are the box's own and valid as long as `self` keeps it.
    @inlinable
    var mutex: UnsafeMutablePointer<pthread_mutex_t> { box.withUnsafeMutablePointerToElements { $0 } }
    @inlinable
    var state: UnsafeMutablePointer<State> { box.withUnsafeMutablePointerToHeader { $0 } }
}

/// Where a lock's state and mutex live, at addresses that never change.
@usableFromInline
final class LockBox<State>: ManagedBuffer<State, pthread_mutex_t> {
    @inlinable
    deinit { _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) } }
}
