public import Curlew
public import Foundation
public import FoundationNetworking

/// Retries failures that are likely to be temporary, with exponential backoff: Curlew's policy as a class that can be
/// subclassed.
///
/// A subclass overrides `shouldRetry(request:dueTo:)` or one form of `retry`, with a completion handler or without;
/// Curlew finds out which. `super` decides by the limit, the methods, the statuses and the codes.
// SAFETY: `policy` is Sendable, and does not change after initialization.
open class RetryPolicy: @unchecked Sendable, RequestInterceptor {
    /// The randomization of delays, which keeps clients that failed together from retrying together.
    public typealias Jitter = Curlew.RetryPolicy.Jitter

    /// The default number of retries.
    public static let defaultRetryLimit: UInt = Curlew.RetryPolicy.defaultRetryLimit
    /// The default base: each delay is twice as long as the previous one.
    public static let defaultExponentialBackoffBase: UInt = Curlew.RetryPolicy.defaultExponentialBackoffBase
    /// The default first delay, in seconds.
    public static let defaultExponentialBackoffScale: Double = Curlew.RetryPolicy.defaultExponentialBackoffScale
    /// The methods that can be repeated without harm.
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = Curlew.RetryPolicy.defaultRetryableHTTPMethods
    /// The statuses of temporary failures. Unlike Alamofire's, they include 429.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = Curlew.RetryPolicy.defaultRetryableHTTPStatusCodes
    /// The codes of failures that may be temporary.
    public static let defaultRetryableErrorCodes: Set<CurlewError.Code> = Curlew.RetryPolicy.defaultRetryableErrorCodes
    /// The codes of `URLError`s that Alamofire retries.
    public static let defaultRetryableURLErrorCodes: Set<URLError.Code> = Curlew.RetryPolicy.usualFoundationCodes

    private var policy: Curlew.RetryPolicy

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
        policy = Curlew.RetryPolicy(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes,
            retryableErrorCodes: retryableErrorCodes,
            jitter: jitter,
            maximumDelay: maximumDelay,
            honorsRetryAfter: honorsRetryAfter,
            budget: budget
        )
    }

    /// Creates a policy that retries the failures that correspond to these `URLError` codes.
    public convenience init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code>,
        jitter: Jitter = .full,
        maximumDelay: TimeInterval = 60,
        honorsRetryAfter: Bool = true,
        budget: RetryBudget? = nil
    ) {
        self.init(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes,
            retryableErrorCodes: CurlewError.Code.standing(for: retryableURLErrorCodes),
            jitter: jitter,
            maximumDelay: maximumDelay,
            honorsRetryAfter: honorsRetryAfter,
            budget: budget
        )
        policy.foundationCodes = retryableURLErrorCodes
    }

    /// The maximum number of retries.
    public var retryLimit: UInt { policy.retryLimit }
    /// The base of the exponential backoff, at least 2. With a smaller one, a request that would be retried fails
    /// instead.
    public var exponentialBackoffBase: UInt { policy.exponentialBackoffBase }
    /// The first delay in seconds.
    public var exponentialBackoffScale: Double { policy.exponentialBackoffScale }
    /// The methods that are retried.
    public var retryableHTTPMethods: Set<HTTPMethod> { policy.retryableHTTPMethods }
    /// The statuses that are retried.
    public var retryableHTTPStatusCodes: Set<Int> { policy.retryableHTTPStatusCodes }
    /// The codes of failures that are retried.
    public var retryableErrorCodes: Set<CurlewError.Code> { policy.retryableErrorCodes }
    /// The `URLError` codes that correspond to the failures that are retried.
    public var retryableURLErrorCodes: Set<URLError.Code> {
        if let codes = policy.foundationCodes { return codes }
        guard retryableErrorCodes != Self.defaultRetryableErrorCodes else { return Self.defaultRetryableURLErrorCodes }
        return Set(retryableErrorCodes.compactMap { URLError.Code(standingFor: $0) })
    }
    /// The randomization of delays.
    public var jitter: Jitter { policy.jitter }
    /// The longest delay in seconds, even if `Retry-After` asks for more.
    public var maximumDelay: TimeInterval { policy.maximumDelay }
    /// Whether `Retry-After` extends the delay.
    public var honorsRetryAfter: Bool { policy.honorsRetryAfter }
    /// Limits the retries of all requests together.
    public var budget: RetryBudget? { policy.budget }

    /// Whether the failure may be temporary and the request may be repeated. Subclasses can override it.
    open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        policy.shouldRetry(request, dueTo: error)
    }

    /// Calls the form that takes any error.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await retry(request, for: session, dueTo: error as any Error)
    }

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

    /// Deposits into the budget, unless the request has already, and returns the request unchanged.
    open func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await policy.adapt(urlRequest, using: state)
    }

    private func decision(on request: Request, dueTo error: any Error) -> RetryResult {
        policy.decision(on: request) { shouldRetry(request: request, dueTo: error) }
    }
}

extension RetryPolicy: OverridableRetrier, BudgetedRetrier {
    func retryItself(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        Task.isCancelled ? .doNotRetry : decision(on: request, dueTo: error)
    }

    package var budgets: [RetryBudget] { budget.map { [$0] } ?? [] }
}

extension CurlewError.Code {
    /// Curlew's codes for these `URLError` codes, usually several for one: every timeout and every cause has its own.
    fileprivate static func standing(for codes: Set<URLError.Code>) -> Set<CurlewError.Code> {
        // If the total time of a request is used up, none is left for another attempt.
        all(standingFor: codes).subtracting([.totalTimedOut])
    }
}

/// Retries requests whose connection was lost, and nothing else.
// SAFETY: it adds no stored property.
open class ConnectionLostRetryPolicy: RetryPolicy, @unchecked Sendable {
    /// The codes of failures that break a connection while data is sent or received.
    public static let connectionLostErrorCodes: Set<CurlewError.Code> = [.sendFailed, .receiveFailed, .truncated]

    /// Creates a policy that retries lost connections only.
    public convenience init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) {
        self.init(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: [],
            retryableErrorCodes: Self.connectionLostErrorCodes
        )
    }
}

// They extend the protocol of `Curlew`, which sessions and requests accept. The `retryPolicy` of `Curlew` is disfavored.
extension Curlew.RequestInterceptor where Self == RetryPolicy {
    /// The policy with its defaults.
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// A policy with the given settings.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableErrorCodes: Set<CurlewError.Code> = RetryPolicy.defaultRetryableErrorCodes,
        jitter: RetryPolicy.Jitter = .full,
        maximumDelay: TimeInterval = 60,
        honorsRetryAfter: Bool = true,
        budget: RetryBudget? = nil
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes,
            retryableErrorCodes: retryableErrorCodes,
            jitter: jitter,
            maximumDelay: maximumDelay,
            honorsRetryAfter: honorsRetryAfter,
            budget: budget
        )
    }

    /// A policy that retries the failures that correspond to these `URLError` codes.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code>
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes,
            retryableURLErrorCodes: retryableURLErrorCodes
        )
    }
}

extension Curlew.RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// The policy with its defaults.
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }

    /// A policy with the given settings.
    public static func connectionLostRetryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) -> ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods
        )
    }
}
