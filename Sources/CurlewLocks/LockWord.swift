internal import CFutex
public import Synchronization

/// How a lock is taken and given back, on one word that the kernel lets threads sleep on.
///
/// Nearly always nobody is in the way: then both are one atomic operation each. The thread sanitizer sees those, because
/// they are compiled into our own code, and with them the order that the lock makes; the kernel only sends threads to
/// sleep and wakes them.
@usableFromInline
enum LockWord {
    @usableFromInline typealias Address = UnsafeMutablePointer<Atomic<UInt32>>

    private static let free: UInt32 = 0
    private static let held: UInt32 = 1
    /// Held, and somebody sleeps or is about to.
    private static let awaited: UInt32 = 2

    /// Where a lock is held for the length of a few stores, it comes free sooner than a sleeper wakes.
    private static let rounds = 40

    @usableFromInline
    static func make(at word: Address) { word.initialize(to: Atomic(free)) }

    @usableFromInline
    static func lock(_ word: Address) {
        if !take(word) { wait(word) }
    }

    @usableFromInline
    static func unlock(_ word: Address) {
        if word.pointee.exchange(free, ordering: .releasing) == awaited { wake(word) }
    }

    private static func take(_ word: Address) -> Bool {
        word.pointee.compareExchange(
            expected: free,
            desired: held,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    @inline(never)
    private static func wait(_ word: Address) {
        for _ in 0..<rounds {
            curlew_futex_spin()
            if word.pointee.load(ordering: .relaxed) == free, take(word) { return }
        }
        // Whoever has slept cannot know whether others still do, and takes the lock as one that is awaited.
        while word.pointee.exchange(awaited, ordering: .acquiring) != free { curlew_futex_wait(word, awaited) }
    }

    @inline(never)
    private static func wake(_ word: Address) { curlew_futex_wake(word) }
}
