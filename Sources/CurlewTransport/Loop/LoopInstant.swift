internal import Glibc

/// A time of the monotonic clock, in nanoseconds. Zero is never a reading, so it can mean "not yet".
struct LoopInstant: Comparable, Hashable {
    var nanoseconds: UInt64

    static let never = LoopInstant(nanoseconds: .max)
    static let unset = LoopInstant(nanoseconds: 0)

    static func now() -> LoopInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return LoopInstant(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    var isSet: Bool { nanoseconds != 0 }

    static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

    /// Saturates at `.never`: a timeout of centuries is no timeout.
    func advanced(byNanoseconds count: UInt64) -> LoopInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(count)
        return overflow ? .never : LoopInstant(nanoseconds: sum)
    }

    func nanoseconds(since earlier: LoopInstant) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? nanoseconds - earlier.nanoseconds : 0
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to the range of `UInt64`; zero for negative durations.
    var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 9_000_000_000 else { return .max }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }

    /// Whole milliseconds; at least one for durations above zero.
    var clampedMilliseconds: Int {
        let nanoseconds = clampedNanoseconds
        if nanoseconds == 0 { return 0 }
        return Int(clamping: max(1, nanoseconds / 1_000_000))
    }
}
