#if DEBUG
internal import Synchronization

/// Counts the acquisitions of all locks in this process. Tests limit the number for a request.
package enum LockCount {
    // Relaxed, because a test reads the counter only after it has waited for the threads whose acquisitions it counts.
    private static let counter = Atomic<UInt64>(0)

    static func add() { counter.wrappingAdd(1, ordering: .relaxed) }

    /// The number of acquisitions so far.
    package static var total: UInt64 { counter.load(ordering: .relaxed) }
}
#endif
