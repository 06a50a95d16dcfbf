/// How long the loop thread's next wait may last.
///
/// A transfer that is started in a borrowed turn has deadlines of its own. The first wait after something has happened is
/// short, so that in most cases these are later than its end, and the loop thread need not be woken for them.
struct PlannedWait {
    private(set) var end = LoopInstant.never
    /// When the last wait with an end began.
    private(set) var began = LoopInstant.unset
    /// Something has happened since the last wait began.
    private var isBusy = false

    static let shortNanoseconds: UInt64 = 1_000_000_000

    /// `isLent`: callers may have turns during the wait.
    mutating func plan(until deadline: LoopInstant, at now: LoopInstant, isLent: Bool) {
        end = isLent && isBusy ? min(deadline, now.advanced(byNanoseconds: Self.shortNanoseconds)) : deadline
        isBusy = false
    }

    mutating func somethingHappened() { isBusy = true }

    /// The wait begins: how long it lasts until `end`; negative is for ever.
    mutating func begin() -> Int64 {
        // Without a deadline nothing asks when it began, and the clock need not be read.
        if end == .never { return -1 }
        began = .now()
        return Int64(clamping: end.nanoseconds(since: began))
    }
}
