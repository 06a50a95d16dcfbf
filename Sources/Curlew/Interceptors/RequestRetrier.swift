public import CurlewCore
public import Foundation
public import FoundationNetworking

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

/// Decides whether a failed request is retried.
///
/// A cancelled request is never retried. Retries without a pause are slowed down from the sixth on, and the hundred and
/// first ends the request with `.retryFailed`. If a redirect led to another origin and dropped the request's
/// credentials, no retrier is asked about a 401, because another attempt would lose them again.
public protocol RequestRetrier: Sendable {
    /// The statuses about which this retrier is asked even if the awaiting method accepts them, as `response()` does.
    /// Empty by default; a `RetryPolicy` lists the statuses that it retries.
    var retryableHTTPStatusCodes: Set<Int> { get }

    /// Returns whether and when the request is retried. Cancelling the request cancels the task that calls this method.
    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult
}

extension RequestRetrier {
    /// Empty by default: the retrier is asked about failures only.
    public var retryableHTTPStatusCodes: Set<Int> { [] }
}

/// An adapter and a retrier in one, for instance for authentication.
///
/// Implement one of the two methods, or both. The parameters must have exactly the types of the protocol: a method with
/// another type, such as `dueTo error: any Error`, compiles but is never called.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// Returns the request unchanged.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        urlRequest
    }

    /// Returns `.doNotRetry`.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        .doNotRetry
    }
}
