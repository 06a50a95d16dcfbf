public import CurlewCore
public import Foundation
public import FoundationNetworking

/// Retries failures that are likely to be temporary, with exponential backoff.
///
/// Only requests with a method in `retryableHTTPMethods` are retried. With the default set, a request that the server
/// may have carried out is repeated only if that has no further effect. A `Retry-After` field extends the delay.
/// Retryable statuses are retried even if the awaiting method accepts them, as with `response()` and
/// `acceptingAnyStatus()`; the last response is the result once there is no retry left.
public struct RetryPolicy: RequestInterceptor {
    /// The randomization of delays, which keeps clients that failed together from retrying together.
    public enum Jitter: Sendable, Hashable {
        /// No randomization.
        case none
        /// A random delay between zero and the full delay.
        case full
    }

    /// The default number of retries.
    public static let defaultRetryLimit: UInt = 2
    /// The default base: each delay is twice as long as the previous one.
    public static let defaultExponentialBackoffBase: UInt = 2
    /// The default first delay, in seconds.
    public static let defaultExponentialBackoffScale: Double = 0.5
    /// The methods that can be repeated without harm.
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = [.delete, .get, .head, .options, .put, .trace]
    /// The statuses of temporary failures. Unlike Alamofire's, they include 429.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// The codes of failures that may be temporary: of the network, of name resolution, and of slow or restarting
    /// servers. `totalTimedOut` is not among them, because it leaves no time for another attempt.
    public static let defaultRetryableErrorCodes: Set<CurlewError.Code> = [
        .resolveFailed, .connectFailed, .proxyFailed, .tlsFailed, .certificateExpired, .sendFailed, .receiveFailed,
        .protocolViolation, .contentDecodingFailed, .truncated, .queueTimedOut, .connectTimedOut, .firstByteTimedOut,
        .idleTimedOut,
    ]

    /// The maximum number of retries.
    package let retryLimit: UInt
    /// The base of the exponential backoff, at least 2. With a smaller one, a request that would be retried fails
    /// instead.
    package let exponentialBackoffBase: UInt
    /// The first delay in seconds.
    package let exponentialBackoffScale: Double
    /// The methods that are retried.
    package let retryableHTTPMethods: Set<HTTPMethod>
    /// The statuses that are retried.
    public let retryableHTTPStatusCodes: Set<Int>
    /// The codes of failures that are retried.
    package let retryableErrorCodes: Set<CurlewError.Code>
    /// The randomization of delays.
    package let jitter: Jitter
    /// The longest delay in seconds, even if `Retry-After` asks for more.
    package let maximumDelay: TimeInterval
    /// Whether `Retry-After` extends the delay.
    package let honorsRetryAfter: Bool
    /// Limits the retries of all requests together.
    package let budget: RetryBudget?

    /// The codes of the `URLError`s of user code that are retried. If `nil`, they are derived from
    /// `retryableErrorCodes`.
    package var foundationCodes: Set<URLError.Code>?

    // Tests set the time and the random numbers.
    var now: @Sendable () -> Date = { Date() }
    var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }

    /// Creates a policy.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableErrorCodes: Set<CurlewError.Code> = RetryPolicy.defaultRetryableErrorCodes,
        jitter: Jitter = .full,
        maximumDelay: TimeInterval = 60,
        honorsRetryAfter: Bool = true,
        budget: RetryBudget? = nil
    ) {
        self.retryLimit = retryLimit
        self.exponentialBackoffBase = exponentialBackoffBase
        self.exponentialBackoffScale = exponentialBackoffScale
        self.retryableHTTPMethods = retryableHTTPMethods
        self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
        self.retryableErrorCodes = retryableErrorCodes
        self.jitter = jitter
        self.maximumDelay = maximumDelay
        self.honorsRetryAfter = honorsRetryAfter
        self.budget = budget
    }

    /// Deposits into the budget, unless the request has already, and returns the request unchanged.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if let budget, !state.hasPaid(into: budget) { budget.deposit() }
        return urlRequest
    }

    /// Decides by the number of retries, the method, the status and the code.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        guard !Task.isCancelled else { return .doNotRetry }
        return decision(on: request) { shouldRetry(request, dueTo: error) }
    }

    /// Whether the failure may be temporary and the request may be repeated.
    package func shouldRetry(_ request: Request, dueTo error: any Error) -> Bool {
        RetryDecision.isRetryable(
            methods: request.methodsOfAttempt,
            status: RetryDecision.status(of: request, error),
            error: error,
            by: self
        )
    }

    /// Returns the decision on a request. It is not retried if the limit is reached, if `shouldRetry` returns false, or
    /// if the budget is used up.
    package func decision(on request: Request, if shouldRetry: () -> Bool) -> RetryResult {
        guard request.retryCount < Int(clamping: retryLimit), shouldRetry() else { return .doNotRetry }
        return RetryDecision.result(
            retryCount: request.retryCount,
            retryAfter: honorsRetryAfter ? request.response?.value(forHTTPHeaderField: "Retry-After") : nil,
            by: self
        )
    }
}

// Disfavored, so that a program that imports CurlewAlamofire gets that module's policy of the same name.
extension RequestInterceptor where Self == RetryPolicy {
    /// The policy with its defaults.
    @_disfavoredOverload
    public static var retryPolicy: RetryPolicy { RetryPolicy() }
}
