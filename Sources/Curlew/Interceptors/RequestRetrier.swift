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
/// is retried. A cancelled request is never retried, whatever the answer.
public protocol RequestRetrier: Sendable {
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
