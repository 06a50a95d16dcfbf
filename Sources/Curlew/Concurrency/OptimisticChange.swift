/// A change by a closure of the user's, of a value that a lock protects. The closure runs without the lock, on a copy; where
/// the value was changed meanwhile it runs again on the new one.
enum OptimisticChange {
    // A closure that makes such a change itself is always too late. It must come to an end.
    private static let rounds = 100

    /// `storing` returns false where the version is not that of the value any more.
    static func carryOut<Value>(
        reading: () -> (Value, version: Int),
        _ change: (inout Value) -> Void,
        storing: (Value, _ version: Int) -> Bool
    ) {
        for _ in 0..<rounds {
            var (value, version) = reading()
            change(&value)
            if storing(value, version) { return }
        }
        var (value, version) = reading()
        change(&value)
        while !storing(value, version) { version = reading().version }
    }
}
