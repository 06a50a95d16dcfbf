// error: 'inout sending' parameter
import CurlewLocks

final class Counter {
    var count = 0
}

/// The state leaves the lock, so both the lock and the caller have it.
func taken(from lock: Lock<Counter>) -> Counter {
    var counter = Counter()
    lock.withLock { counter = $0 }
    return counter
}
