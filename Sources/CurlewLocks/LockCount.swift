#if DEBUG
internal import Synchronization

/// How often locks were taken in this process, for tests that hold a request to a number of them.
package enum LockCount {
    // Relaxed: a test reads it after it has waited for the threads whose locks it counts.
    private static let counter = Atomic<UInt64>(0)

    static func add() { counter.wrappingAdd(1, ordering: .relaxed) }

    /// All acquisitions of all locks so far.
    package static var total: UInt64 { counter.load(ordering: .relaxed) }
}
#endif
