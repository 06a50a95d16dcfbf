internal import Foundation

/// A change by a user's closure to a value that a lock protects. The closure runs without the lock, on a copy. If the
/// value was changed in the meantime, it runs again on the new one.
package enum OptimisticChange {
    /// Carries out the change. `storing` returns `false` if the value has a newer version.
    package static func carryOut<Value>(
        reading: () -> (Value, version: ChangeVersion),
        _ change: (inout Value) -> Void,
        storing: (Value, _ version: ChangeVersion) -> Bool
    ) {
        while true {
            var (value, version) = reading()
            change(&value)
            if storing(value, version) { return }
            // Another thread won the race, so there is progress; try again. A closure that changes the same value
            // itself would lose every time, so in that case the outer change is stored over the inner one.
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
