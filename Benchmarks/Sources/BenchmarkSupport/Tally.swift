internal import Glibc
internal import Synchronization

/// Counts the workers' requests, with a few additions for each, like C's counters.
public final class Tally: Sendable {
    struct Values {
        var succeeded = 0
        var failed = 0
        var bytes = 0
        /// The sum over all requests that succeeded.
        var nanoseconds = 0
        var firstError: String?
    }

    /// One worker's counters, which no other worker writes.
    public final class Lane: Sendable {
        let succeeded = Atomic<Int>(0)
        let nanoseconds = Atomic<Int>(0)

        /// Counts a request that has succeeded.
        public func succeeded(since began: Int) {
            succeeded.wrappingAdd(1, ordering: .relaxed)
            nanoseconds.wrappingAdd(Tally.now() - began, ordering: .relaxed)
        }
    }

    private let count: Int?
    private let started = Atomic<Int>(0)
    private let isOver = Atomic<Bool>(false)
    private let bytes = Atomic<Int>(0)
    private let rest = Mutex(Rest())

    private struct Rest {
        var lanes: [Lane] = []
        var failed = 0
        var firstError: String?
        /// The values when counting began.
        var before = Values()
    }

    init(count: Int?) { self.count = count }

    public func add(bytes new: Int) { bytes.wrappingAdd(new, ordering: .relaxed) }

    /// Returns the counters of another worker.
    public func lane() -> Lane {
        let lane = Lane()
        rest.withLock { $0.lanes.append(lane) }
        return lane
    }

    /// Returns the number of the next request; `nil` when enough have been started.
    public func next() -> Int? {
        if isOver.load(ordering: .relaxed) { return nil }
        let number = started.wrappingAdd(1, ordering: .relaxed).newValue
        if let count, number > count { return nil }
        return number
    }

    public func failed(_ error: any Error) {
        rest.withLock { rest in
            rest.failed += 1
            if rest.firstError == nil { rest.firstError = "\(error)" }
        }
    }

    /// The monotonic clock, in nanoseconds.
    public static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Ends the warm-up.
    func begin() {
        rest.withLock { rest in
            rest.before = sum(rest)
            // Failures in the warm-up count, too.
            rest.before.failed = 0
        }
    }

    func end() -> Values {
        let values = rest.withLock { rest in
            var values = sum(rest)
            values.succeeded -= rest.before.succeeded
            values.bytes -= rest.before.bytes
            values.nanoseconds -= rest.before.nanoseconds
            return values
        }
        isOver.store(true, ordering: .relaxed)
        return values
    }

    private func sum(_ rest: Rest) -> Values {
        Values(
            succeeded: rest.lanes.reduce(0) { $0 + $1.succeeded.load(ordering: .relaxed) },
            failed: rest.failed,
            bytes: bytes.load(ordering: .relaxed),
            nanoseconds: rest.lanes.reduce(0) { $0 + $1.nanoseconds.load(ordering: .relaxed) },
            firstError: rest.firstError
        )
    }
}
