public import CurlewCore
public import Foundation
public import FoundationNetworking

/// Retries failures that are likely to be temporary, with exponential backoff.
///
/// Only requests with a method in `retryableHTTPMethods` are retried. With the default set, a request that the server may have
/// carried out is repeated only if that has no further effect. A `Retry-After` field extends the delay. Retryable statuses are
/// retried whatever the terminal accepts, so also with `response()` and `acceptingAnyStatus()`; the last response is the result
/// once there is no retry left.
// SAFETY: every stored property is of a Sendable type and constant once the policy is made.
open class RetryPolicy: @unchecked Sendable, RequestInterceptor {
    /// How delays are randomized, so that clients that failed together do not return together.
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
    /// The codes of failures that may be temporary: of the network, of name resolution, and of slow or restarting servers.
    /// `totalTimedOut` is not among them, because it leaves no time for another attempt.
    public static let defaultRetryableErrorCodes: Set<CurlewError.Code> = [
        .resolveFailed, .connectFailed, .proxyFailed, .tlsFailed, .certificateExpired, .sendFailed, .receiveFailed,
        .protocolViolation, .contentDecodingFailed, .truncated, .queueTimedOut, .connectTimedOut, .firstByteTimedOut,
        .idleTimedOut,
    ]

    /// The maximum number of retries.
    public let retryLimit: UInt
    /// The base of the exponential backoff, at least 2. With a smaller one, a request that would be retried fails instead.
    public let exponentialBackoffBase: UInt
    /// The first delay in seconds.
    public let exponentialBackoffScale: Double
    /// The methods that are retried.
    public let retryableHTTPMethods: Set<HTTPMethod>
    /// The statuses that are retried.
    public let retryableHTTPStatusCodes: Set<Int>
    /// The codes of failures that are retried.
    public let retryableErrorCodes: Set<CurlewError.Code>
    /// How delays are randomized.
    public let jitter: Jitter
    /// The longest delay in seconds, whatever `Retry-After` says.
    public let maximumDelay: TimeInterval
    /// Whether `Retry-After` extends the delay.
    public let honorsRetryAfter: Bool
    /// Limits the retries of all requests together.
    public let budget: RetryBudget?

    /// The codes of `URLError`s that are retried where an error of Foundation's is asked about; nil are those that stand for
    /// `retryableErrorCodes`. Set before the policy is shared.
    package var foundationCodes: Set<URLError.Code>?

    // Time and chance may come from outside. The public initializer is the designated one, so that subclasses of
    // other modules inherit it.
    private(set) var now: @Sendable () -> Date = { Date() }
    private(set) var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }

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

    /// Time and chance come from outside.
    convenience init(
        limit: UInt,
        base: UInt,
        scale: Double,
        methods: Set<HTTPMethod>,
        statuses: Set<Int>,
        errors: Set<CurlewError.Code>,
        jitter: Jitter,
        maximumDelay: TimeInterval,
        honorsRetryAfter: Bool,
        budget: RetryBudget?,
        now: @escaping @Sendable () -> Date,
        random: @escaping @Sendable () -> UInt64
    ) {
        self.init(
            retryLimit: limit,
            exponentialBackoffBase: base,
            exponentialBackoffScale: scale,
            retryableHTTPMethods: methods,
            retryableHTTPStatusCodes: statuses,
            retryableErrorCodes: errors,
            jitter: jitter,
            maximumDelay: maximumDelay,
            honorsRetryAfter: honorsRetryAfter,
            budget: budget
        )
        self.now = now
        self.random = random
    }

    /// Whether the failure may be temporary and the request may be repeated. Subclasses can override it.
    open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        RetryDecision.isRetryable(
            methods: request.methodsOfAttempt,
            status: RetryDecision.status(of: request, error),
            error: error,
            by: self
        )
    }

    // A subclass may override either form.
    open func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        let isSubclass = type(of: self) != RetryPolicy.self
        if isSubclass { return await retryByForms(request, for: session, dueTo: error) }
        return await retryItself(request, for: session, dueTo: error)
    }

    open func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(decision(on: request, dueTo: error))
    }

    /// Sends the request unchanged.
    open func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if let budget, !state.hasPaid(into: budget) { budget.deposit() }
        return urlRequest
    }

    func retryItself(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        Task.isCancelled ? .doNotRetry : decision(on: request, dueTo: error)
    }

    private func decision(on request: Request, dueTo error: any Error) -> RetryResult {
        guard request.retryCount < Int(clamping: retryLimit), shouldRetry(request: request, dueTo: error) else {
            return .doNotRetry
        }
        return RetryDecision.result(
            retryCount: request.retryCount,
            retryAfter: honorsRetryAfter ? request.response?.value(forHTTPHeaderField: "Retry-After") : nil,
            by: self
        )
    }
}

extension RetryPolicy: OverridableRetrier {}
