internal import Curlew
internal import Foundation

/// What `--retry` means for a request.
struct RetrySettings: Sendable {
    /// 0 without `--retry`, and if the request may not be sent twice: then the response is the result, whatever its status.
    let limit: Int

    /// A method that changes something may be sent once only, and a body that is read while it is sent can be.
    init(_ preparation: Preparation) {
        let method = HTTPMethod(rawValue: preparation.plan.method)
        let mayRepeat = RetryPolicy.defaultRetryableHTTPMethods.contains(method)
        var isReplayable = true
        if case .standardInput = preparation.plan.body { isReplayable = false }
        limit = mayRepeat && isReplayable ? preparation.invocation.network.retries : 0
    }

    /// nil if nothing is retried.
    func interceptor(_ announce: @escaping @Sendable (RetryNote) async -> Void) -> (any RequestInterceptor)? {
        guard limit > 0 else { return nil }
        return AnnouncedRetries(policy: RetryPolicy(retryLimit: UInt(limit)), limit: limit, announce: announce)
    }

    /// Makes statuses that may pass into failures as long as tries are left. The last answer is taken as it is:
    /// the user wants to see it.
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

/// A try that has failed, and the one that follows.
struct RetryNote: Equatable, Sendable {
    /// Why.
    let reason: String
    /// In seconds.
    let delay: Double
    /// 1 is the first one more.
    let number: Int
    let limit: Int

    var text: String {
        let time = delay > 0 ? "in " + Amount.time(delay) : "at once"
        return "\(reason); trying again \(time) (\(number) of \(limit))"
    }
}

/// The policy's decisions, told before they are carried out, so that a waiting command is not silent.
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
