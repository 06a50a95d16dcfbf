// error: returning task-isolated 'counter' as a 'sending' result
import CurlewLocks

final class Counter {
    var count = 0
}

/// The state of a lock was there before, in other hands.
func shared(_ counter: Counter) -> Lock<Counter> { Lock(making: { counter }) }
