internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The decisions of a `RetryPolicy`.
enum RetryDecision {
    static func status(of request: Request, _ error: any Error) -> Int? {
        (error as? CurlewError)?.responseCode ?? request.response?.statusCode
    }

    static func isRetryable(methods: Set<HTTPMethod>, status: Int?, error: any Error, by policy: RetryPolicy) -> Bool {
        guard !methods.isEmpty, methods.isSubset(of: policy.retryableHTTPMethods) else { return false }
        if let status, policy.retryableHTTPStatusCodes.contains(status) { return true }
        if let error = error as? URLError { return policy.retries(error.code) }
        guard let error = error as? CurlewError else { return false }
        if let given = error.givenURLError { return policy.retries(given.code) }
        if policy.retryableErrorCodes.contains(error.code) { return true }
        guard let inner = error.underlying as? CurlewError else { return false }
        return policy.retryableErrorCodes.contains(inner.code)
    }

    static func result(retryCount: Int, retryAfter: String?, by policy: RetryPolicy) -> RetryResult {
        guard policy.exponentialBackoffBase >= 2 else {
            return .doNotRetryWithError(
                CurlewError(
                    .unsupported,
                    phase: .retry,
                    reason: "A RetryPolicy's exponentialBackoffBase must be 2 or more."
                )
            )
        }
        if let budget = policy.budget, !budget.withdraw() { return .doNotRetry }
        let backoff = Backoff(
            base: policy.exponentialBackoffBase,
            scale: policy.exponentialBackoffScale,
            maximum: .bounded(seconds: policy.maximumDelay),
            jitter: policy.jitter == .full ? .full : .none
        )
        var generator = ClosureGenerator(source: policy.random)
        let delay = backoff.delay(
            beforeRetry: retryCount,
            retryAfter: policy.honorsRetryAfter ? retryAfter.flatMap { RetryAfter.delay($0, now: policy.now()) } : nil,
            using: &generator
        )
        return .retryWithDelay(delay / .seconds(1))
    }

    private struct ClosureGenerator: RandomNumberGenerator {
        let source: @Sendable () -> UInt64

        func next() -> UInt64 { source() }
    }
}
