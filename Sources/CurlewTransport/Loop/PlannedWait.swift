/// The planned length of the loop thread's next wait.
///
/// A transfer that is started in a borrowed turn adds deadlines. The first wait after some activity is short, so that
/// it mostly ends before these deadlines and the loop thread need not be woken for them.
struct PlannedWait {
    private(set) var end = LoopInstant.never
    /// When the last wait with an end began.
    private(set) var began = LoopInstant.unset
    /// Something has happened since the last wait was planned.
    private var isBusy = false

    static let shortNanoseconds: UInt64 = 1_000_000_000

    /// Plans a wait until `deadline`. `isLent`: callers may borrow turns during the wait.
    mutating func plan(until deadline: LoopInstant, at now: LoopInstant, isLent: Bool) {
        end = isLent && isBusy ? min(deadline, now.advanced(byNanoseconds: Self.shortNanoseconds)) : deadline
        isBusy = false
    }

    mutating func somethingHappened() { isBusy = true }

    /// Begins the wait and returns its length in nanoseconds; a negative length means no limit.
    mutating func begin() -> Int64 {
        // A wait without a deadline expires no timeout, so `began` may keep its earlier value and the clock need not be
        // read.
        if end == .never { return -1 }
        began = .now()
        return Int64(clamping: end.nanoseconds(since: began))
    }
}
