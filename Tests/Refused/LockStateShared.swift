// error: sending 'counter' risks causing data races
import CurlewLocks

final class Counter {
    var count = 0
}

/// The state of a lock stays with the code that made it, too.
func shared() -> Lock<Counter> {
    let counter = Counter()
    let lock = Lock(counter)
    counter.count += 1
    return lock
}
