// error: 'inout sending' parameter
import CurlewLocks

final class Counter {
    var count = 0
}

/// The state of a lock is left behind in two places: inside the lock, and with the caller.
func taken(from lock: Lock<Counter>) -> Counter {
    var counter = Counter()
    lock.withLock { counter = $0 }
    return counter
}
