internal import Foundation
public import FoundationNetworking

/// Changes a `URLRequest` before it is sent, for instance to add a token, sign the request, or send it to another host.
///
/// Implement one of the four forms. Curlew calls `adapt(_:using:)`, whose default tries the others in this order: `using` with a
/// completion handler, `for`, `for` with a completion handler. An adapter with none of them leaves the request unchanged.
/// Cancelling the request cancels the task of an `async` form, and ends the wait for a completion handler at once.
public protocol RequestAdapter: Sendable {
    /// Returns the request to send. This is the form that Curlew calls; `state` has the session and the request's identity.
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest

    /// Returns the request to send.
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest

    /// The same with a completion handler, as in Alamofire.
    func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    )

    /// The same with a state and a completion handler, as in Alamofire.
    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    )
}

extension RequestAdapter {
    /// Tries the other forms, and sends the request unchanged where none is implemented.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        do {
            return try await CompletionBridge.value { adapt(urlRequest, using: state, completion: $0) }
        } catch is AdaptUsingNotImplemented {
            return try await adapt(urlRequest, for: state.session)
        }
    }

    /// Calls the form with a completion handler. Implement one of the two.
    public func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        try await CompletionBridge.value { adapt(urlRequest, for: session, completion: $0) }
    }

    /// Returns the request unchanged.
    public func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.failure(AdaptUsingNotImplemented()))
    }

    /// Reports that this form is not implemented, so that another one is called.
    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(urlRequest))
    }
}

/// The default of the using form with completion says so, and the next form is tried: never seen outside.
struct AdaptUsingNotImplemented: Error {}
