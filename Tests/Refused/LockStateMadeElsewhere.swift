// error: returning task-isolated 'counter' as a 'sending' result
import CurlewLocks

final class Counter {
    var count = 0
}

/// The state existed before the lock, and the caller still has a reference to it.
func shared(_ counter: Counter) -> Lock<Counter> { Lock(making: { counter }) }
