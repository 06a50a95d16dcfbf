public import CurlewCore

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
