internal import Foundation

/// A change by a closure of the user's, of a value that a lock protects. The closure runs without the lock, on a copy; where
/// the value was changed meanwhile it runs again on the new one.
package enum OptimisticChange {
    /// `storing` returns false where the version is not that of the value any more.
    package static func carryOut<Value>(
        reading: () -> (Value, version: ChangeVersion),
        _ change: (inout Value) -> Void,
        storing: (Value, _ version: ChangeVersion) -> Bool
    ) {
        while true {
            var (value, version) = reading()
            change(&value)
            if storing(value, version) { return }
            // Another thread was first: then it has got on, and it is this one's turn some time. A closure that makes such a
            // change itself is always too late: the outer change counts.
            version = reading().version
            guard version.isOfThisThread else { continue }
            while !storing(value, version) { version = reading().version }
            return
        }
    }
}

/// Counts the changes of a value, and knows the thread of the last one.
package struct ChangeVersion: Equatable, Sendable {
    private var number = 0
    private var thread: ObjectIdentifier?

    package init() {}

    package mutating func advance() {
        number += 1
        thread = ObjectIdentifier(Thread.current)
    }

    /// Whether the last change was made on the calling thread.
    package var isOfThisThread: Bool { thread == ObjectIdentifier(Thread.current) }
}
