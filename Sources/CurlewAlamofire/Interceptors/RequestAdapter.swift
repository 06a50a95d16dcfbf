public import Curlew
internal import Foundation
public import FoundationNetworking

/// Changes a `URLRequest` before it is sent, in Alamofire's forms.
///
/// Implement one of the four forms. Curlew calls `adapt(_:using:)`, whose default tries the others in this order:
/// `using` with a completion handler, `for`, `for` with a completion handler. An adapter with none of them leaves the
/// request unchanged. Cancelling the request cancels the task of an `async` form, and ends the wait for a completion
/// handler at once. Only the first call of a completion handler counts.
public protocol RequestAdapter: Curlew.RequestAdapter {
    /// Returns the request to send.
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest

    /// Passes the request to send to a completion handler; `state` has the session and the request's identity.
    func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    )

    /// Passes the request to send to a completion handler.
    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    )
}

extension RequestAdapter {
    /// Tries the other forms. If none is implemented, the request is sent unchanged.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await adaptByOtherForms(urlRequest, using: state)
    }

    /// Calls the form with a completion handler.
    public func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        try await CompletionBridge.value { adapt(urlRequest, for: session, completion: $0) }
    }

    /// Reports that this form is not implemented, so that another one is called.
    public func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.failure(AdaptUsingNotImplemented()))
    }

    /// Passes on the request unchanged.
    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(urlRequest))
    }

    func adaptByOtherForms(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        do {
            return try await CompletionBridge.value { adapt(urlRequest, using: state, completion: $0) }
        } catch is AdaptUsingNotImplemented {
            return try await adapt(urlRequest, for: state.session)
        }
    }
}

/// The error of an adapter that does not implement `using` with a completion handler. The caller tries another form, so
/// users never see it.
struct AdaptUsingNotImplemented: Error {}

extension Curlew.RequestAdapter {
    /// Adapts the request in a new task.
    func startAdapting(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        CompletionTask.start(completion) { await Result.of { try await adapt(urlRequest, using: state) } }
    }

    /// Adapts the request in a new task.
    func startAdapting(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        let state = RequestAdapterState(requestID: UUID(), session: session)
        startAdapting(urlRequest, using: state, completion: completion)
    }
}
