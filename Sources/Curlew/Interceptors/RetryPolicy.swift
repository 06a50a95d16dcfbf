public import CurlewCore
public import Foundation
public import FoundationNetworking

/// Tries again what is likely to work a second time, after a delay that doubles.
///
/// Only methods of `retryableHTTPMethods` are retried: with the default set a request that a server may have
/// carried out already is never sent twice, unless twice has the effect of once. Naming POST allows it.
/// A response's `Retry-After` makes the delay longer. Statuses are looked at whatever the terminal accepts: also with
/// `response()` and `acceptingAnyStatus()`, whose callers get the last response when there is no more retry.
// SAFETY: every stored property is of a Sendable type and constant once the policy is made.
open class RetryPolicy: @unchecked Sendable, RequestInterceptor {
    /// How delays are spread, so that clients that failed together do not come back together.
    public enum Jitter: Sendable, Hashable {
        /// The delay itself.
        case none
        /// Anything between nothing and the delay.
        case full
    }

    /// At most two retries.
    public static let defaultRetryLimit: UInt = 2
    /// Each pause is twice as long as the one before it.
    public static let defaultExponentialBackoffBase: UInt = 2
    /// The first pause is half a second.
    public static let defaultExponentialBackoffScale: Double = 0.5
    /// The methods that may be repeated without harm.
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = [.delete, .get, .head, .options, .put, .trace]
    /// The statuses that tell of a passing trouble. Unlike Alamofire's they have 429, for which `Retry-After` is made.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// What may pass: the network, the name service, a slow or restarting server. Not `totalTimedOut`, which
    /// leaves no time for another try.
    public static let defaultRetryableErrorCodes: Set<CurlewError.Code> = [
        .resolveFailed, .connectFailed, .proxyFailed, .tlsFailed, .certificateExpired, .sendFailed, .receiveFailed,
        .protocolViolation, .contentDecodingFailed, .truncated, .queueTimedOut, .connectTimedOut, .firstByteTimedOut,
        .idleTimedOut,
    ]

    /// How many times a request is tried again.
    public let retryLimit: UInt
    /// At least 2: below that a request that would be retried fails with an error.
    public let exponentialBackoffBase: UInt
    /// The first delay in seconds.
    public let exponentialBackoffScale: Double
    /// The methods that are retried.
    public let retryableHTTPMethods: Set<HTTPMethod>
    /// The statuses that are retried.
    public let retryableHTTPStatusCodes: Set<Int>
    /// The codes of failures that are retried.
    public let retryableErrorCodes: Set<CurlewError.Code>
    /// How pauses are spread, so that clients do not come back all at once.
    public let jitter: Jitter
    /// No delay is longer, in seconds, whatever the server asks for.
    public let maximumDelay: TimeInterval
    /// Whether a response's `Retry-After` makes the delay longer.
    public let honorsRetryAfter: Bool
    /// Bounds the retries of all requests together, if there is one.
    public let budget: RetryBudget?

    /// The codes of `URLError`s that are retried where an error of Foundation's is asked about; nil are those that stand for
    /// `retryableErrorCodes`. Set before the policy is shared.
    package var foundationCodes: Set<URLError.Code>?

    // Time and chance may come from outside. The public initializer is the designated one, so that subclasses of
    // other modules inherit it.
    private(set) var now: @Sendable () -> Date = { Date() }
    private(set) var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }

    /// Makes a policy; see the properties for what the defaults are.
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

    /// Whether the failure may pass and the request may be sent twice. Subclasses may know better.
    open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        RetryDecision.isRetryable(
            method: request.request?.method,
            status: RetryDecision.status(of: request, error),
            error: error,
            by: self
        )
    }

    // By way of the other form: a subclass may override either.
    open func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await CompletionBridge.answer(orIfCancelled: .doNotRetry) {
            retry(request, for: session, dueTo: error, completion: $0)
        }
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
        budget?.deposit()
        return urlRequest
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
