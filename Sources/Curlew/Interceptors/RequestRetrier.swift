public import Foundation

/// What a retrier decides.
public enum RetryResult: Sendable {
    /// Again, at once.
    case retry
    /// Again, after so many seconds.
    case retryWithDelay(TimeInterval)
    /// Not again; the next retrier is asked, and at last the error stands.
    case doNotRetry
    /// Not again, and this error instead.
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

/// Decides whether a request that failed is tried again.
///
/// Write one of the two forms; Curlew calls the `async` one, whose default calls the other. Without either nothing
/// is retried. A cancelled request is never retried, whatever the answer. Retries without a pause are slowed down from the
/// sixth on, and end with `.retryFailed` after a hundred. Where a redirect led away from the origin that the request's
/// credentials are for, no retrier is asked about status 401: another try would lose them again.
public protocol RequestRetrier: Sendable {
    /// The statuses about which this retrier is asked even where the terminal accepts them, as `response()` does. None,
    /// unless a retrier says otherwise; a `RetryPolicy` names those that it retries.
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
    /// None: only failures are looked at.
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

/// An adapter and a retrier in one, for what must do both: authentication, signing, tracing.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}
