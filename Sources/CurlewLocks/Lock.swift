#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A mutual-exclusion lock around the state that it protects.
///
/// It stands on a pthread mutex: `Synchronization.Mutex` is invisible to the thread sanitizer on
/// Linux (it reports races that are none) and is slower there.
///
/// A lock that protects no value of its own is `Lock(false)`, not `Lock(())`: a state without a size has
/// the address of the object itself, and the thread sanitizer takes an access to it for one to the object.
public final class Lock<State>: @unchecked Sendable {  // SAFETY: `state` is touched only while `mutex` is held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    public init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        let code = pthread_mutex_init(mutex, nil)
        precondition(code == 0, "pthread_mutex_init failed: \(code)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the state. Keep it short, and never call foreign code in it.
    @inlinable
    public func withLock<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> sending R) throws(E) -> sending R {
        acquire()
        defer { release() }
        return try body(&self._state)
    }

    @usableFromInline
    var _state: State {
        get { state }
        _modify { yield &state }
    }

    @usableFromInline
    func acquire() { pthread_mutex_lock(mutex) }

    @usableFromInline
    func release() { pthread_mutex_unlock(mutex) }
}
