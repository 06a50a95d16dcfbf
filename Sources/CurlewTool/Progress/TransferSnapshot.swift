/// The progress of one transfer at one moment.
struct TransferSnapshot: Sendable, Equatable {
    enum State: Sendable, Equatable {
        case waiting, running, done
        case failed(String)
        /// An attempt has failed, and another follows.
        case retrying(String)
    }

    var name: String
    var completed: Int64 = 0
    /// `nil` if the server does not send a length.
    var total: Int64?
    var bytesPerSecond: Double?
    /// The seconds since the start.
    var elapsed: Double = 0
    var state: State = .waiting

    var isUnderWay: Bool {
        switch state {
        case .running, .retrying: true
        case .waiting, .done, .failed: false
        }
    }

    var fraction: Double? {
        guard let total, total > 0 else { return state == .done ? 1 : nil }
        return min(1, Double(completed) / Double(total))
    }

    /// At most 99 until the transfer is done. `nil` if the total is unknown.
    var percent: Int? {
        guard state != .done else { return 100 }
        return fraction.map { min(99, Int($0 * 100)) }
    }

    /// The bytes per second since the start.
    var averageRate: Double { elapsed > 0 ? Double(completed) / elapsed : 0 }

    var remainingSeconds: Double? {
        guard let total, let bytesPerSecond, bytesPerSecond > 0, total > completed else { return nil }
        return Double(total - completed) / bytesPerSecond
    }
}

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
