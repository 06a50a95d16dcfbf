internal import Foundation
internal import Glibc

extension Duration {
    /// The factor for upper time bounds: `CURLEW_TIME_FACTOR` from the environment, at least 1. `scripts/test` sets it
    /// to 5 under a sanitizer.
    package static let testTimeFactor =
        ProcessInfo.processInfo.environment["CURLEW_TIME_FACTOR"].flatMap(Double.init).map { max(1, $0) } ?? 1

    /// This duration as an upper bound, multiplied by the time factor. Do not use it for lower bounds.
    package var asTestBound: Duration { self * Self.testTimeFactor }
}

/// The condition of `eventually` did not hold in time.
package struct NeverHappened: Error {}

/// Returns when the condition holds. Polls, because some conditions cannot notify a waiter.
package func eventually(within timeout: Duration = .seconds(40), _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + timeout.asTestBound
    while !condition() {
        if ContinuousClock.now > deadline { throw NeverHappened() }
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// The socket faults that `scripts/fault-modes` injects into this process.
package enum FaultMode {
    package static let name = ProcessInfo.processInfo.environment["CURLEW_FAULT_MODE"]
    /// Whether a few KiB fill a connection's buffers, so that a test must not expect more to be in flight.
    package static let hasTinyBuffers = name == "tiny-buffers" || name == "short-writes"
}

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
