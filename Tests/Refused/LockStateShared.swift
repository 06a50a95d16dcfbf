// error: sending 'counter' risks causing data races
import CurlewLocks

final class Counter {
    var count = 0
}

/// The code that made the state uses it after it has given the state to the lock.
func shared() -> Lock<Counter> {
    let counter = Counter()
    let lock = Lock(counter)
    counter.count += 1
    return lock
}
