internal import CFutex
public import Synchronization

/// How a lock is taken and given back, on one word that the kernel lets threads sleep on.
///
/// Nearly always it is free: then both are one atomic operation each. The thread sanitizer sees those, because
/// they are compiled into our own code, and with them the order that the lock makes; the kernel only sends threads to
/// sleep and wakes them.
///
/// Why that order is enough on processors with weak order, too: each hold begins with an acquiring read-modify-write of the
/// word and ends with a releasing one, and the one that begins a hold reads what the one that ended the hold before has
/// written. So all that a holder did comes before all that the next one does. No wake-up is lost: a waiter sleeps only after
/// it has put `awaited` there, the kernel compares the word with that before it lets the thread sleep, and who gives the
/// lock back reads in the same step that it must wake.
@usableFromInline
enum LockWord {
    @usableFromInline typealias Address = UnsafeMutablePointer<Atomic<UInt32>>

    private static let free: UInt32 = 0
    private static let held: UInt32 = 1
    /// Held, and a thread sleeps or is about to.
    private static let awaited: UInt32 = 2

    /// Where a lock is held for the length of a few stores, it comes free sooner than a sleeper wakes.
    private static let rounds = 40

    /// How many words a lock takes. In a debug build the second holds the number of the thread that holds the lock, and
    /// the third counts how often it was taken.
    @inlinable static var count: Int {
        #if DEBUG
        3
        #else
        1
        #endif
    }

    @usableFromInline
    static func make(at word: Address) {
        for word in word..<word + count { word.initialize(to: Atomic(free)) }
    }

    @usableFromInline
    static func lock(_ word: Address) {
        #if DEBUG
        // Other threads' stores never make this equal to the number of this thread: the order does not matter.
        if word[1].load(ordering: .relaxed) == curlew_thread() { trapOnRecursion() }
        #endif
        if !take(word) { wait(word) }
        #if DEBUG
        word[1].store(curlew_thread(), ordering: .relaxed)
        word[2].wrappingAdd(1, ordering: .relaxed)
        LockCount.counter.wrappingAdd(1, ordering: .relaxed)
        #endif
    }

    @usableFromInline
    static func unlock(_ word: Address) {
        #if DEBUG
        word[1].store(free, ordering: .relaxed)
        #endif
        if word.pointee.exchange(free, ordering: .releasing) == awaited { wake(word) }
    }

    #if DEBUG
    @inline(never)
    private static func trapOnRecursion() {
        assertionFailure("This thread holds the lock already: foreign code ran, or was released, under it.")
    }
    #endif

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
        // A thread that has slept cannot know whether others still do, and takes the lock as one that is awaited.
        while word.pointee.exchange(awaited, ordering: .acquiring) != free { curlew_futex_wait(word, awaited) }
    }

    @inline(never)
    private static func wake(_ word: Address) { curlew_futex_wake(word) }
}
