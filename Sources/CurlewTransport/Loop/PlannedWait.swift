/// How long the loop thread's next wait may last.
///
/// A transfer that is started in a borrowed turn has deadlines of its own. The first wait after something has happened is
/// short, so that in most cases these are later than its end, and the loop thread need not be woken for them.
struct PlannedWait {
    private(set) var end = LoopInstant.never
    /// Something has happened since the last wait began.
    private var isBusy = false

    static let shortNanoseconds: UInt64 = 1_000_000_000

    /// `isLent`: callers may have turns during the wait.
    mutating func plan(until deadline: LoopInstant, at now: LoopInstant, isLent: Bool) {
        end = isLent && isBusy ? min(deadline, now.advanced(byNanoseconds: Self.shortNanoseconds)) : deadline
        isBusy = false
    }

    mutating func somethingHappened() { isBusy = true }

    /// Until `end`, from now; negative is for ever.
    var nanoseconds: Int64 { end == .never ? -1 : Int64(clamping: end.nanoseconds(since: .now())) }
}
