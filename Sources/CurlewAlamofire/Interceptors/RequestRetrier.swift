public import Curlew
public import FoundationNetworking

/// Decides whether a failed request is retried, in Alamofire's forms.
///
/// Implement one of the three forms. Curlew calls the form with a `CurlewError`. Its default calls the `async` form
/// with any error, whose default calls the form with a completion handler, whose default is `.doNotRetry`. In these
/// forms `error` then is always a `CurlewError`. Only the first call of a completion handler counts.
public protocol RequestRetrier: Curlew.RequestRetrier {
    /// Returns whether and when the request is retried.
    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult

    /// Passes to a completion handler whether and when the request is retried.
    func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    )
}

extension RequestRetrier {
    /// Calls the form that takes any error.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await retry(request, for: session, dueTo: error as any Error)
    }

    /// Calls the form with a completion handler.
    public func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await CompletionBridge.answer(orIfCancelled: .doNotRetry) {
            retry(request, for: session, dueTo: error, completion: $0)
        }
    }

    /// Passes `.doNotRetry` to the completion handler.
    public func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(.doNotRetry)
    }
}

extension Curlew.RequestRetrier {
    /// Asks about any error. A retrier that accepts only a `CurlewError` receives one that contains the error.
    func askAboutAny(_ error: any Error, of request: Request, for session: Session) async -> RetryResult {
        if let error = error as? CurlewError { return await retry(request, for: session, dueTo: error) }
        if let retrier = self as? any RequestRetrier {
            return await retrier.retry(request, for: session, dueTo: error)
        }
        return await retry(request, for: session, dueTo: .sessionTaskFailed(error: error))
    }
}

/// An adapter and a retrier in one, in Alamofire's forms. Curlew's own `RequestInterceptor` can be used everywhere,
/// too.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier, Curlew.RequestInterceptor {}

// Both inherited protocols have these defaults. Without these declarations, calls would be ambiguous.
extension RequestInterceptor {
    /// Tries the other forms. If none is implemented, the request is sent unchanged.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await adaptByOtherForms(urlRequest, using: state)
    }

    /// Calls the form that takes any error.
    public func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
        await retry(request, for: session, dueTo: error as any Error)
    }
}
