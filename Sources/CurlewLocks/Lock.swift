public import Synchronization

/// A mutual-exclusion lock around the state that it protects. Copies share both.
///
/// State and lock are one allocation, and `body` is inlined, because every request makes a lock and takes it many
/// times. Docs/Decisions/0011 says why it is neither `Synchronization.Mutex` nor pthread's.
///
/// A lock that protects no value of its own is `Lock(false)`, not `Lock(())`: the thread sanitizer needs a state
/// with a size to tell its accesses from others.
public struct Lock<State>: @unchecked Sendable {  // SAFETY: the state is touched only while the lock is held.
    // Where both live, at addresses that never change.
    @usableFromInline
    let box: ManagedBuffer<State, Atomic<UInt32>>

    /// Makes a lock around its state, which nothing else may refer to from then on.
    @inlinable
    public init(_ state: sending State) {
        box = ManagedBuffer.create(minimumCapacity: LockWord.count) { _ in state }
        LockWord.make(at: word)
    }

    /// A large state is made where it stays: a copy would cost more than the lock.
    @inlinable
    public init(making state: () -> sending State) {
        box = ManagedBuffer.create(minimumCapacity: LockWord.count) { _ in state() }
        LockWord.make(at: word)
    }

    /// Runs `body` with exclusive access to the state. Keep it short, and never call foreign code in it.
    ///
    /// Assigning to the state releases what it held. Where that can be an object of the user's, or a closure that
    /// captures one, return the old value and let it go outside: its `deinit` may ask for this lock.
    /// A debug build traps where a thread asks for a lock that it holds; a release build would wait for ever.
    @inlinable
    public func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending State) throws(E) -> sending R
    ) throws(E) -> sending R {
        let word = word
        LockWord.lock(word)
        // The body may drop the last reference to the lock itself, and the addresses are the box's.
        defer { withExtendedLifetime(box) { LockWord.unlock(word) } }
        return try body(&state.pointee)
    }

    // SAFETY of both: the addresses are the box's own and valid as long as `self` keeps it.
    @inlinable
    var word: LockWord.Address { box.withUnsafeMutablePointerToElements { $0 } }
    @inlinable
    var state: UnsafeMutablePointer<State> { box.withUnsafeMutablePointerToHeader { $0 } }
}

#if DEBUG
extension Lock {
    /// How often the lock was taken: tests hold requests to a number.
    package var acquisitions: Int { Int(word[2].load(ordering: .relaxed)) }
}
#endif
