#if canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#endif

/// A mutual-exclusion lock with the state that it protects. Copies share both.
///
/// State and mutex are one allocation and `body` is inlined, because every request creates a lock and takes it several
/// times. Docs/Decisions/0015 explains the choice of pthread's mutex.
///
/// Use `Lock(false)`, not `Lock(())`, for a lock that protects no value: the thread sanitizer tells accesses to states
/// apart by their addresses, so the state needs a size.
public struct Lock<State>: @unchecked Sendable {  // SAFETY: the state is touched only while the mutex is held.
    @usableFromInline
    let box: LockBox<State>

    /// Creates a lock with its state, to which no other reference may remain.
    @inlinable
    public init(_ state: sending State) {
        let made = LockBox<State>.create(minimumCapacity: LockMutex.count) { _ in state }
        box = unsafeDowncast(made, to: LockBox<State>.self)  // SAFETY: `create` makes the class that it is called on.
        LockMutex.make(at: mutex)
    }

    /// Creates a lock whose state `state` creates in place. Use it for large states, which are expensive to copy.
    @inlinable
    public init(making state: () -> sending State) {
        let made = LockBox<State>.create(minimumCapacity: LockMutex.count) { _ in state() }
        box = unsafeDowncast(made, to: LockBox<State>.self)  // SAFETY: as above.
        LockMutex.make(at: mutex)
    }

    /// Runs `body` with exclusive access to the state. Keep it short, and never call user code in it.
    ///
    /// Assigning to the state releases its old value. If that value can be a user's object, or a closure that captures
    /// one, return it from `body`: it then lives at least until the lock is free, and its `deinit` may take this lock.
    /// A debug build traps if a thread takes a lock that it already holds; a release build deadlocks.
    @inlinable
    public func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending State) throws(E) -> sending R
    ) throws(E) -> sending R {
        let mutex = mutex
        LockMutex.lock(mutex)
        do throws(E) {
            let result = try body(&state.pointee)
            // Keeps both alive until the mutex is free, even if the optimizer finds no further use of them. The body
            // may drop the last reference to the lock, which contains the mutex. The result may be the last reference
            // to an object whose `deinit` takes this lock.
            withExtendedLifetime(box) { withExtendedLifetime(result) { LockMutex.unlock(mutex) } }
            return result
        } catch {
            withExtendedLifetime(box) { LockMutex.unlock(mutex) }
            throw error
        }
    }

    // SAFETY of both: the addresses belong to the box and are valid as long as `self` keeps it alive.
    @inlinable
    var mutex: LockMutex.Address { box.withUnsafeMutablePointerToElements { $0 } }
    @inlinable
    var state: UnsafeMutablePointer<State> { box.withUnsafeMutablePointerToHeader { $0 } }
}

/// Stores a lock's state and mutex at addresses that never change.
@usableFromInline
final class LockBox<State>: ManagedBuffer<State, pthread_mutex_t> {
    @inlinable
    deinit { withUnsafeMutablePointerToElements { LockMutex.destroy($0) } }
}

#if DEBUG
extension Lock {
    /// The number of times that the lock was taken, which tests limit for a request.
    package var acquisitions: Int {
        LockMutex.lock(mutex)
        defer { LockMutex.unlock(mutex) }
        // Excludes the acquisition by this property.
        return LockMutex.acquisitions(of: mutex).pointee - 1
    }
}
#endif
