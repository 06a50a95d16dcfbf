internal import Foundation
public import FoundationNetworking

/// Changes a `URLRequest` before it is sent: adds a token, signs it, moves it to another host.
///
/// Write one of the four forms; Curlew calls `adapt(_:using:)`, whose default tries the others in this order:
/// using with completion, for, for with completion. An adapter that has none passes the request on. Cancelling the
/// request cancels the task that an `async` form runs in, and ends the wait for a completion at once.
public protocol RequestAdapter: Sendable {
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest

    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest

    func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    )

    func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    )
}

extension RequestAdapter {
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        do {
            return try await CompletionBridge.value { adapt(urlRequest, using: state, completion: $0) }
        } catch is AdaptUsingNotImplemented {
            return try await adapt(urlRequest, for: state.session)
        }
    }

    public func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        try await CompletionBridge.value { adapt(urlRequest, for: session, completion: $0) }
    }

    public func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.failure(AdaptUsingNotImplemented()))
    }

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
