internal import Foundation
public import FoundationNetworking

/// Changes a `URLRequest` before it is sent: adds a token, signs it, moves it to another host.
///
/// Write one of the four forms; Curlew calls `adapt(_:using:)`, whose default tries the others in this order:
/// using with completion, for, for with completion. An adapter that has none passes the request on. Cancelling the
/// request cancels the task that an `async` form runs in, and ends the wait for a completion at once.
public protocol RequestAdapter: Sendable {
    /// Answers the request to send, with what is known about it: this is the form that Curlew calls.
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest

    /// Answers the request to send.
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest

    /// The same in Alamofire's form: the closure is called with the request or an error.
    func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    )

    /// The same in Alamofire's form, with what is known about the request.
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

    /// Asks the completion form.
    public func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        try await CompletionBridge.value { adapt(urlRequest, for: session, completion: $0) }
    }

    /// Answers the request unchanged.
    public func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.failure(AdaptUsingNotImplemented()))
    }

    /// Answers that this form is not implemented.
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
