/// Measures bytes per second over the last few seconds. The caller supplies the time.
struct RateMeter: Sendable, Equatable {
    private struct Sample: Sendable, Equatable {
        let time: Double
        let bytes: Int64
    }

    private var samples: [Sample] = []
    private let window: Double

    init(window: Double = 5) { self.window = window }

    /// Records that `bytes` have been transferred in total at `time`, in seconds of any clock.
    mutating func record(_ bytes: Int64, at time: Double) {
        // A lower count means that the transfer began again, so the old samples are worthless.
        if let last = samples.last, bytes < last.bytes { samples = [] }
        samples.append(Sample(time: time, bytes: bytes))
        while samples.count > 2, time - samples[1].time >= window { samples.removeFirst() }
    }

    /// `nil` until two samples are more than 50 ms apart.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time - first.time > 0.05 else { return nil }
        return Double(last.bytes - first.bytes) / (last.time - first.time)
    }
}
