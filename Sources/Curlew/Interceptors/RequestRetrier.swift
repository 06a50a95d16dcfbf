public import Foundation

/// The decision of a retrier.
public enum RetryResult: Sendable {
    /// Retry at once.
    case retry
    /// Retry after a delay in seconds.
    case retryWithDelay(TimeInterval)
    /// Do not retry. The next retrier is asked; if there is none, the request fails with its error.
    case doNotRetry
    /// Do not retry, and fail with this error.
    case doNotRetryWithError(any Error)
}

extension RetryResult {
    var isRetry: Bool {
        switch self {
        case .retry, .retryWithDelay: true
        case .doNotRetry, .doNotRetryWithError: false
        }
    }

    var delay: TimeInterval? {
        guard case .retryWithDelay(let delay) = self else { return nil }
        return delay
    }

    var error: (any Error)? {
        guard case .doNotRetryWithError(let error) = self else { return nil }
        return error
    }
}

/// Decides whether a failed request is retried.
///
/// Implement one of the two forms; Curlew calls the `async` one, whose default calls the other. A cancelled request is never
/// retried. Retries without a pause are slowed down from the sixth on, and the hundred and first ends the request with
/// `.retryFailed`. If a redirect led to another origin and dropped the request's credentials, no retrier is asked about a 401:
/// another attempt would lose them again.
public protocol RequestRetrier: Sendable {
    /// The statuses about which this retrier is asked even if the terminal accepts them, as `response()` does. Empty by default;
    /// a `RetryPolicy` lists the statuses that it retries.
    var retryableHTTPStatusCodes: Set<Int> { get }

    /// `error` always is a `CurlewError`.
    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult

    /// `error` always is a `CurlewError`.
    func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    )
}

extension RequestRetrier {
    /// Empty by default: the retrier is asked about failures only.
    public var retryableHTTPStatusCodes: Set<Int> { [] }

    public func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await CompletionBridge.answer(orIfCancelled: .doNotRetry) {
            retry(request, for: session, dueTo: error, completion: $0)
        }
    }

    public func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(.doNotRetry)
    }
}

/// An adapter and a retrier in one, for instance for authentication.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}
