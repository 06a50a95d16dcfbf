internal import Foundation

extension Duration {
    /// How many times wider bounds of time are than on an idle machine: 1, or 5 under a sanitizer, which
    /// `scripts/test` says in CURLEW_TIME_FACTOR.
    package static let testTimeFactor =
        ProcessInfo.processInfo.environment["CURLEW_TIME_FACTOR"].flatMap(Double.init).map { max(1, $0) } ?? 1

    /// This upper bound of a test, as wide as the tests' surroundings ask for. For lower bounds it has no use.
    package var asTestBound: Duration { self * Self.testTimeFactor }
}
