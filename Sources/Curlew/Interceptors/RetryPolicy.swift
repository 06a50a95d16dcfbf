public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// Retries failures that are likely to be temporary, with exponential backoff.
///
/// Only requests with a method in `retryableHTTPMethods`, or with an idempotency key, are retried. With the default
/// set, a request that the server may have carried out is repeated only if that has no further effect. A `Retry-After`
/// field extends the delay. A stream whose head was accepted is not retried because of its status. Retryable statuses
/// are retried even if the awaiting method accepts them, as with `response()` and `acceptingAnyStatus()`; the last
/// response is the result once there is no retry left.
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
    /// servers. `totalTimedOut` is not among them, because it leaves no time for another attempt, nor are `limited` and
    /// `circuitOpen`, which mean that there are too many requests already.
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
            hasIdempotencyKey: request.hasIdempotencyKey,
            by: self
        )
    }

    /// Returns the decision on a request. It is not retried if the limit is reached, if `shouldRetry` returns false, or
    /// if the budget is used up.
    package func decision(on request: Request, if shouldRetry: () -> Bool) -> RetryResult {
        guard request.retryCount < Int(clamping: retryLimit), shouldRetry() else { return .doNotRetry }
        return RetryDecision.result(
            retryCount: request.retryCount,
            retryAfter: request.response?.value(forHTTPHeaderField: "Retry-After"),
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

/// Retries requests whose connection was lost, and nothing else.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// The codes of failures that break a connection while data is sent or received.
    public static let connectionLostErrorCodes: Set<CurlewError.Code> = [.sendFailed, .receiveFailed, .truncated]

    private let policy: RetryPolicy

    /// Creates a policy that retries lost connections only.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) {
        policy = RetryPolicy(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: [],
            retryableErrorCodes: Self.connectionLostErrorCodes
        )
    }

    /// Decides like a `RetryPolicy` with these codes and without statuses.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await policy.retry(request, for: session, dueTo: error)
    }
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// The policy with its defaults.
    // Disfavored, so that a program that imports CurlewAlamofire gets that module's policy of the same name.
    @_disfavoredOverload
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }
}

/// The decisions of a `RetryPolicy`.
enum RetryDecision {
    static func status(of request: Request, _ error: any Error) -> Int? {
        (error as? CurlewError)?.responseCode ?? request.response?.statusCode
    }

    static func isRetryable(
        methods: Set<HTTPMethod>, status: Int?, error: any Error, hasIdempotencyKey: Bool = false,
        by policy: RetryPolicy
    ) -> Bool {
        guard hasIdempotencyKey || (!methods.isEmpty && methods.isSubset(of: policy.retryableHTTPMethods)) else {
            return false
        }
        // This attempt was not sent, so the status is that of an earlier one.
        if let code = (error as? CurlewError)?.code, code == .limited || code == .circuitOpen {
            return policy.retryableErrorCodes.contains(code)
        }
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

extension RetryPolicy {
    /// The codes that Alamofire retries by default.
    package static let usualFoundationCodes: Set<URLError.Code> = [
        .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected, .badServerResponse, .callIsActive,
        .cannotConnectToHost, .cannotFindHost, .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
        .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete, .internationalRoamingOff,
        .networkConnectionLost, .notConnectedToInternet, .secureConnectionFailed, .serverCertificateHasBadDate,
        .serverCertificateNotYetValid, .timedOut,
    ]

    /// Whether the policy retries a `URLError` that user code has thrown.
    func retries(_ code: URLError.Code) -> Bool {
        if let foundationCodes { return foundationCodes.contains(code) }
        guard retryableErrorCodes != Self.defaultRetryableErrorCodes else {
            return Self.usualFoundationCodes.contains(code)
        }
        return CurlewError.Code(standingFor: code).map(retryableErrorCodes.contains) ?? false
    }
}

extension CurlewError {
    /// The `URLError` that user code threw, or reports as the transport's failure. An error that a decoder, a
    /// validator or a trust evaluator threw says nothing about the transport.
    package var givenURLError: URLError? {
        switch detail {
        case nil, .exchange?: underlying as? URLError
        default: nil
        }
    }
}

extension CurlewError.Code {
    /// The code for failures that URLSession reports as `code`; `nil` if there is none.
    package init?(standingFor code: URLError.Code) {
        guard let found = Self.codes[code] else { return nil }
        self = found
    }

    private static let codes: [URLError.Code: CurlewError.Code] = [
        .cannotFindHost: .resolveFailed,
        .dnsLookupFailed: .resolveFailed,
        .cannotConnectToHost: .connectFailed,
        .notConnectedToInternet: .connectFailed,
        .dataNotAllowed: .connectFailed,
        .internationalRoamingOff: .connectFailed,
        .callIsActive: .connectFailed,
        .networkConnectionLost: .receiveFailed,
        .cannotLoadFromNetwork: .receiveFailed,
        .backgroundSessionInUseByAnotherProcess: .receiveFailed,
        .backgroundSessionWasDisconnected: .receiveFailed,
        .timedOut: .idleTimedOut,
        .secureConnectionFailed: .tlsFailed,
        .serverCertificateHasBadDate: .certificateExpired,
        .serverCertificateNotYetValid: .certificateExpired,
        .serverCertificateUntrusted: .certificateUntrusted,
        .serverCertificateHasUnknownRoot: .certificateUntrusted,
        .clientCertificateRequired: .clientCertificateRequired,
        .clientCertificateRejected: .clientCertificateRequired,
        .badServerResponse: .protocolViolation,
        .cannotParseResponse: .protocolViolation,
        .cannotDecodeContentData: .contentDecodingFailed,
        .cannotDecodeRawData: .contentDecodingFailed,
        .downloadDecodingFailedMidStream: .contentDecodingFailed,
        .downloadDecodingFailedToComplete: .contentDecodingFailed,
        .dataLengthExceedsMaximum: .limitExceeded,
        .httpTooManyRedirects: .tooManyRedirects,
        .redirectToNonExistentLocation: .redirectRefused,
        .userAuthenticationRequired: .authenticationFailed,
    ]
}

/// Limits the retries of all requests together, so that a failing server is not overloaded by them.
///
/// Every request adds `ratio` of a retry to the budget when it starts, even if it is never retried; its policy may be
/// an interceptor or only a retrier. `minimumPerSecond` retries are always allowed. At most `capacity` retries
/// accumulate. Share one budget among the policies for one server, or set `Resilience.retryBudget`: then every origin has
/// a budget with these numbers, which limits all retriers.
public final class RetryBudget: Sendable {
    /// The retries per request, in the long run.
    package let ratio: Double
    /// The retries per second that are allowed even if there are few requests.
    package let minimumPerSecond: Double
    /// The maximum number of retries in one burst.
    package let capacity: Double

    private let bucket: Lock<RetryTokenBucket>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Creates a budget: `ratio` retries per request, at least `minimumPerSecond`, at most `capacity` at once.
    public convenience init(ratio: Double = 0.2, minimumPerSecond: Double = 1, capacity: Double = 20) {
        self.init(ratio: ratio, minimumPerSecond: minimumPerSecond, capacity: capacity) { .now }
    }

    init(
        ratio: Double,
        minimumPerSecond: Double,
        capacity: Double,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.ratio = ratio
        self.minimumPerSecond = minimumPerSecond
        self.capacity = capacity
        self.now = now
        bucket = Lock(
            RetryTokenBucket(ratio: ratio, minimumPerSecond: minimumPerSecond, capacity: capacity, now: now())
        )
    }

    /// Adds the share of a request that starts.
    func deposit() {
        let now = now()
        bucket.withLock { $0.requestStarted(at: now) }
    }

    /// Takes one retry from the budget. Returns `false` if the budget does not cover it.
    func withdraw() -> Bool {
        let now = now()
        return bucket.withLock { $0.retryWanted(at: now) }
    }
}

/// A retrier whose retries are limited by budgets, into which requests deposit.
package protocol BudgetedRetrier: RequestRetrier {
    /// The retrier's budget, or those of its parts.
    var budgets: [RetryBudget] { get }
}

extension RetryPolicy: BudgetedRetrier {
    package var budgets: [RetryBudget] { budget.map { [$0] } ?? [] }
}

extension Interceptor: BudgetedRetrier {
    package var budgets: [RetryBudget] { retriers.budgets }
}

extension [any RequestRetrier] {
    /// The budgets of all retriers, each of them once.
    package var budgets: [RetryBudget] {
        var found: [RetryBudget] = []
        for case let retrier as any BudgetedRetrier in self {
            for budget in retrier.budgets where !found.contains(where: { $0 === budget }) { found.append(budget) }
        }
        return found
    }
}

extension Request {
    /// The budgets that this request deposits into: those of all retriers that may be asked about it.
    fileprivate var retryBudgets: [RetryBudget] { retriers.budgets }

    /// Deposits into the budgets when the request starts.
    func paysIntoBudgets() {
        for budget in retryBudgets { budget.deposit() }
    }
}

extension RequestAdapterState {
    /// Whether the request deposited into this budget when it started. If not, only a user's interceptor that wraps the
    /// policy knows the budget, and the policy deposits when it adapts the first attempt.
    func hasPaid(into budget: RetryBudget) -> Bool {
        guard let request else { return false }
        return request.retryCount > 0 || request.retryBudgets.contains { $0 === budget }
    }
}
