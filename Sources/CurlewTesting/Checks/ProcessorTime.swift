internal import Glibc

/// Measures the CPU time of the calling thread: a busy machine delays a test, but does not make it compute more.
package enum ProcessorTime {
    /// Returns the CPU time of `work` in the fastest of three rounds; the time of `prepare` is not measured.
    package static func ofFastestRound<Input>(
        _ prepare: () throws -> Input, _ work: (inout Input) throws -> Void
    ) rethrows -> Duration {
        var fastest: Duration?
        for _ in 0..<3 {
            var input = try prepare()
            let began = now
            try work(&input)
            let took = now - began
            fastest = min(fastest ?? took, took)
        }
        return fastest ?? .zero
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
