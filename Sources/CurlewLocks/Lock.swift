#if canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#endif

/// A mutual-exclusion lock around the state that it protects. Copies share both.
///
/// State and mutex are one allocation, and `body` is inlined, because every request makes a lock and takes it several
/// times. Docs/Decisions/0015 says why the mutex is pthread's.
///
/// A lock that protects no value of its own is `Lock(false)`, not `Lock(())`: the thread sanitizer needs a state
/// with a size to tell its accesses from others.
public struct Lock<State>: @unchecked Sendable {  // SAFETY: the state is touched only while the mutex is held.
    @usableFromInline
    let box: LockBox<State>

    /// Creates a lock around its state, which nothing else may refer to from then on.
    @inlinable
    public init(_ state: sending State) {
        let made = LockBox<State>.create(minimumCapacity: LockMutex.count) { _ in state }
        box = unsafeDowncast(made, to: LockBox<State>.self)  // SAFETY: `create` makes the class that it is called on.
        LockMutex.make(at: mutex)
    }

    /// A large state is made where it stays: a copy would cost more than the lock.
    @inlinable
    public init(making state: () -> sending State) {
        let made = LockBox<State>.create(minimumCapacity: LockMutex.count) { _ in state() }
        box = unsafeDowncast(made, to: LockBox<State>.self)  // SAFETY: as above.
        LockMutex.make(at: mutex)
    }

    /// Runs `body` with exclusive access to the state. Keep it short, and never call foreign code in it.
    ///
    /// Assigning to the state releases what it held. Where that can be an object of the user's, or a closure that
    /// captures one, return the old value, which lives at least until the lock is free: its `deinit` may ask for this lock.
    /// A debug build traps where a thread asks for a lock that it holds; a release build would wait for ever.
    @inlinable
    public func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending State) throws(E) -> sending R
    ) throws(E) -> sending R {
        let mutex = mutex
        LockMutex.lock(mutex)
        do throws(E) {
            let result = try body(&state.pointee)
            // Both live until the mutex is free, whatever the optimizer finds unused: the body may drop the last reference to the
            // lock, which has the mutex, and the result may hold the last reference to an object that asks for this lock at its end.
            withExtendedLifetime(box) { withExtendedLifetime(result) { LockMutex.unlock(mutex) } }
            return result
        } catch {
            withExtendedLifetime(box) { LockMutex.unlock(mutex) }
            throw error
        }
    }

    // SAFETY of both: the addresses are the box's own and valid as long as `self` keeps it.
    @inlinable
    var mutex: LockMutex.Address { box.withUnsafeMutablePointerToElements { $0 } }
    @inlinable
    var state: UnsafeMutablePointer<State> { box.withUnsafeMutablePointerToHeader { $0 } }
}

/// Where a lock's state and mutex live, at addresses that never change.
@usableFromInline
final class LockBox<State>: ManagedBuffer<State, pthread_mutex_t> {
    @inlinable
    deinit { withUnsafeMutablePointerToElements { LockMutex.destroy($0) } }
}

#if DEBUG
extension Lock {
    /// How often the lock was taken: tests hold requests to a number.
    package var acquisitions: Int {
        LockMutex.lock(mutex)
        defer { LockMutex.unlock(mutex) }
        // Not by this look at it.
        return LockMutex.acquisitions(of: mutex).pointee - 1
    }
}
#endif
