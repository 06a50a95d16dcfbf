internal import Curlew
internal import Foundation

/// The effect of `--retry` on a request.
struct RetrySettings: Sendable {
    /// The maximum number of retries. It is 0 without `--retry`, and if the request must not be sent twice. The
    /// response is then the result, whatever its status.
    let limit: Int

    /// Allows retries only for idempotent methods, and not for a body that is read while it is sent.
    init(_ preparation: Preparation) {
        let method = HTTPMethod(rawValue: preparation.plan.method)
        let mayRepeat = RetryPolicy.defaultRetryableHTTPMethods.contains(method)
        var isReplayable = true
        if case .standardInput = preparation.plan.body { isReplayable = false }
        limit = mayRepeat && isReplayable ? preparation.invocation.network.retries : 0
    }

    /// Returns the interceptor that retries. `nil` if nothing is retried.
    func interceptor(_ announce: @escaping @Sendable (RetryNote) async -> Void) -> (any RequestInterceptor)? {
        guard limit > 0 else { return nil }
        return AnnouncedRetries(policy: RetryPolicy(retryLimit: UInt(limit)), limit: limit, announce: announce)
    }

    /// Turns temporary statuses into failures while retries remain. The last response is accepted, because the user
    /// wants to see it.
    func check(_ response: HTTPURLResponse, retryCount: Int) -> Result<Void, any Error> {
        guard retryCount < limit, RetryPolicy.defaultRetryableHTTPStatusCodes.contains(response.statusCode) else {
            return .success(())
        }
        return .failure(PassingStatus(status: response.statusCode))
    }

    struct PassingStatus: Error {
        let status: Int
    }
}

/// The announcement of a retry.
struct RetryNote: Equatable, Sendable {
    /// The reason for the failure.
    let reason: String
    /// The delay before the retry, in seconds.
    let delay: Double
    /// The number of the retry, from 1.
    let number: Int
    let limit: Int

    var text: String {
        let time = delay > 0 ? "in " + Amount.time(delay) : "at once"
        return "\(reason); trying again \(time) (\(number) of \(limit))"
    }
}

/// Retries as the policy decides, and announces each retry before its delay, so that a waiting command is not silent.
struct AnnouncedRetries: RequestInterceptor {
    let policy: RetryPolicy
    let limit: Int
    let announce: @Sendable (RetryNote) async -> Void

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        let result = await policy.retry(request, for: session, dueTo: error)
        let delay: Double
        switch result {
        case .retry: delay = 0
        case .retryWithDelay(let seconds): delay = seconds
        case .doNotRetry, .doNotRetryWithError: return result
        }
        await announce(
            RetryNote(reason: Self.reason(error), delay: delay, number: request.retryCount + 1, limit: limit))
        return result
    }

    private static func reason(_ error: CurlewError) -> String {
        if let status = error.responseCode, !(200..<300 ~= status) { return "the server answered \(status)" }
        return ErrorReport(error).what
    }
}
