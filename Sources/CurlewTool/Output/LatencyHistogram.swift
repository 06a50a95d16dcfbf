/// Counts durations in buckets whose width grows with the duration, so that its memory does not grow with their number.
///
/// A duration is counted in whole nanoseconds. Up to 255 ns each has a bucket of its own; above, each power of two is
/// divided into 128 buckets of equal width. A percentile is the middle of its bucket, so it differs from the exact one
/// by at most 1/256 (0.4 %). At most 7,296 buckets are possible (57 KiB). The minimum, the maximum and the mean are
/// exact.
struct LatencyHistogram: Equatable, Sendable {
    /// The number of durations.
    private(set) var count = 0
    private(set) var minimum = Duration.zero
    private(set) var maximum = Duration.zero
    private var sum = Duration.zero
    /// The number of durations in each bucket, up to that of the maximum.
    private var counts: [Int] = []

    /// The largest possible number of buckets.
    static let mostBuckets = 7_296
    /// The exponent of the number of buckets for each power of two.
    private static let precision = 7

    /// Adds a duration. A negative one counts as 0.
    mutating func record(_ duration: Duration) {
        let duration = max(duration, .zero)
        minimum = count == 0 ? duration : min(minimum, duration)
        maximum = max(maximum, duration)
        sum += duration
        count += 1
        let index = Self.index(of: Self.nanoseconds(duration))
        if index >= counts.count { counts += Array(repeating: 0, count: index + 1 - counts.count) }
        counts[index] += 1
    }

    var mean: Duration { count == 0 ? .zero : sum / count }

    /// Returns the shortest duration that at least this share of the durations does not exceed (the nearest rank).
    func percentile(_ share: Double) -> Duration {
        guard count > 0 else { return .zero }
        let rank = min(max(1, Int((share * Double(count)).rounded(.up))), count)
        var seen = 0
        for (index, number) in counts.enumerated() {
            seen += number
            guard seen >= rank else { continue }
            let (lower, width) = Self.bounds(of: index)
            return min(max(.nanoseconds(lower + (width - 1) / 2), minimum), maximum)
        }
        return maximum
    }

    /// A range of durations and their number.
    struct Row: Equatable, Sendable {
        /// The end of the range: no duration of the row exceeds it.
        let end: Duration
        let count: Int
    }

    /// Returns the durations in at most `most` ranges from the minimum to the maximum, each of the same number of
    /// buckets. The ranges become wider with the duration, so that a few long durations do not hide the others.
    func rows(atMost most: Int) -> [Row] {
        guard count > 0, most > 0, let first = counts.firstIndex(where: { $0 > 0 }) else { return [] }
        let width = (counts.count - first + most - 1) / most
        return stride(from: first, to: counts.count, by: width).map { start in
            let end = min(start + width, counts.count)
            let (lower, size) = Self.bounds(of: end - 1)
            return Row(
                end: end == counts.count ? maximum : .nanoseconds(lower + (size - 1)),
                count: counts[start..<end].reduce(0, +))
        }
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        // About 292 years: longer durations are counted as that.
        guard seconds < Int64.max / 1_000_000_000 else { return .max }
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    private static func index(of value: Int64) -> Int {
        let bits = Int64.bitWidth - value.leadingZeroBitCount
        let shift = max(0, bits - precision - 1)
        return shift << precision + Int(value >> Int64(shift))
    }

    /// Returns the lowest value of a bucket and the number of its values.
    private static func bounds(of index: Int) -> (lower: Int64, width: Int64) {
        let shift = max(0, index >> precision - 1)
        return (Int64(index - shift << precision) << Int64(shift), 1 << Int64(shift))
    }
}
