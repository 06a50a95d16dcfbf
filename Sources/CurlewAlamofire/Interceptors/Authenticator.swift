public import Curlew
internal import Foundation
public import FoundationNetworking

/// Applies a credential to requests, recognizes it in them, and refreshes it, in Alamofire's form.
///
/// Implement one of the two forms of `refresh`.
public protocol Authenticator: Curlew.Authenticator {
    /// Passes a new credential, which replaces the old one, to a completion handler.
    func refresh(
        _ credential: Credential,
        for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
    )
}

extension Authenticator {
    /// Calls the form with a completion handler.
    public func refresh(_ credential: Credential, for session: Session) async throws -> Credential {
        try await CompletionBridge.value { refresh(credential, for: session, completion: $0) }
    }

    /// Fails with `.unsupported`.
    public func refresh(
        _ credential: Credential,
        for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
    ) {
        completion(
            .failure(CurlewError.unsupported(feature: "Refreshing a credential", needs: "Authenticator.refresh")))
    }
}

// For callers of Alamofire's forms. Curlew itself calls those of the class.
extension AuthenticationInterceptor: RequestInterceptor {
    /// Applies the credential, after a refresh if it requires one.
    public func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        try await adapt(urlRequest, using: RequestAdapterState(requestID: UUID(), session: session))
    }

    /// Applies the credential in a new task.
    public func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        startAdapting(urlRequest, using: state, completion: completion)
    }

    /// Applies the credential in a new task.
    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        startAdapting(urlRequest, for: session, completion: completion)
    }

    /// Retries the request with another credential if the server did not accept its own.
    public func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        guard let urlRequest = request.request, let response = request.response else { return .doNotRetry }
        return await retry(urlRequest, response, for: session, dueTo: error)
    }

    /// Retries the request with another credential if the server did not accept its own.
    public func retry(
        _ request: Request,
        for session: Session,
        dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        CompletionTask.start(completion) { await self.retry(request, for: session, dueTo: error) }
    }
}
