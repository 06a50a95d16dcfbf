internal import Foundation

extension Duration {
    /// The factor for upper time bounds: `CURLEW_TIME_FACTOR` from the environment, at least 1. `scripts/test` sets it
    /// to 5 under a sanitizer.
    package static let testTimeFactor =
        ProcessInfo.processInfo.environment["CURLEW_TIME_FACTOR"].flatMap(Double.init).map { max(1, $0) } ?? 1

    /// This duration as an upper bound, multiplied by the time factor. Do not use it for lower bounds.
    package var asTestBound: Duration { self * Self.testTimeFactor }
}
