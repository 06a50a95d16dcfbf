#if canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#endif

/// Creates, locks, unlocks and destroys the mutex of a lock. In a debug build, the mutex detects a thread that locks it
/// twice, and its acquisitions are counted.
@usableFromInline
enum LockMutex {
    // A pointer instead of `inout`, which the thread sanitizer would treat as an access to the mutex.
    @usableFromInline typealias Address = UnsafeMutablePointer<pthread_mutex_t>

    /// The number of mutex-sized elements that a lock allocates. In a debug build, the second one stores the count.
    @inlinable static var count: Int {
        #if DEBUG
        2
        #else
        1
        #endif
    }

    @inlinable
    static func destroy(_ mutex: Address) { pthread_mutex_destroy(mutex) }

    @inlinable
    static func unlock(_ mutex: Address) { pthread_mutex_unlock(mutex) }

    #if DEBUG
    @usableFromInline
    static func make(at mutex: Address) {
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
        UnsafeMutableRawPointer(mutex + 1).initializeMemory(as: Int.self, to: 0)
    }

    @usableFromInline
    static func lock(_ mutex: Address) {
        let code = pthread_mutex_lock(mutex)
        assert(code == 0, "This thread holds the lock already: user code ran, or was released, under it.")
        acquisitions(of: mutex).pointee += 1
        LockCount.add()
    }

    /// Returns the address of the count, which follows the mutex. The count is read and written while the mutex is
    /// held.
    static func acquisitions(of mutex: Address) -> UnsafeMutablePointer<Int> {
        UnsafeMutableRawPointer(mutex + 1).assumingMemoryBound(to: Int.self)
    }
    #else
    @inlinable
    static func make(at mutex: Address) { pthread_mutex_init(mutex, nil) }

    @inlinable
    static func lock(_ mutex: Address) { pthread_mutex_lock(mutex) }
    #endif
}
