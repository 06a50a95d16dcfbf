public import CurlewCore
public import Foundation

/// Retries requests whose connection was lost, and nothing else.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// The codes of failures that break a connection while data is sent or received.
    public static let connectionLostErrorCodes: Set<CurlewError.Code> = [.sendFailed, .receiveFailed, .truncated]

    let policy: RetryPolicy

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

// Disfavored, so that a program that imports CurlewAlamofire gets that module's policies of the same names.
extension RequestInterceptor where Self == RetryPolicy {
    /// The policy with its defaults.
    @_disfavoredOverload
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// A policy with the given settings.
    @_disfavoredOverload
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
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// The policy with its defaults.
    @_disfavoredOverload
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }

    /// A policy with the given settings.
    @_disfavoredOverload
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
