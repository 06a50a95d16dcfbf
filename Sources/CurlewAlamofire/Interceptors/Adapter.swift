public import Curlew
internal import Foundation
public import FoundationNetworking

/// A closure that adapts a request and passes the result to a completion handler.
public typealias AdaptHandler =
    @Sendable (
        _ request: URLRequest, _ session: Session,
        _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) -> Void

/// An adapter that calls a closure.
///
///     let token = Adapter { request, _ in
///         var request = request
///         request.headers.add(.authorization(bearerToken: try await tokens.current()))
///         return request
///     }
///
/// A subclass overrides one of the four forms; Curlew finds out which. `super` calls the closure.
// SAFETY: `handler` is a constant, and Sendable.
open class Adapter: @unchecked Sendable, RequestInterceptor {
    private enum Handler: Sendable {
        case completion(AdaptHandler)
        case async(@Sendable (URLRequest, Session) async throws -> URLRequest)
    }

    private let handler: Handler

    /// Creates an adapter from a closure with a completion handler, which it must call. Only the first call counts.
    public init(_ adaptHandler: @escaping AdaptHandler) { handler = .completion(adaptHandler) }

    /// Creates an adapter from an `async` closure.
    public init(_ adapt: @escaping @Sendable (_ request: URLRequest, _ session: Session) async throws -> URLRequest) {
        handler = .async(adapt)
    }

    /// Calls the adapter's closure in Alamofire's form.
    open func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        if isSubclass, passes(urlRequest, to: completion) { return }
        switch handler {
        case .completion(let handler): handler(urlRequest, session, completion)
        case .async(let handler):
            CompletionTask.start(completion) { await Result.of { try await handler(urlRequest, session) } }
        }
    }

    /// Calls the adapter's closure in Alamofire's form, with the state's session.
    open func adapt(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        if isSubclass, passes(urlRequest, using: state, to: completion) { return }
        adapt(urlRequest, for: state.session, completion: completion)
    }

    /// Passes the request to the closure, and returns the closure's result.
    open func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        if isSubclass { return try await adaptByForms(urlRequest, for: session) }
        return try await adapted(urlRequest, session)
    }

    /// Passes the request and the state's session to the closure, and returns the closure's result.
    open func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if isSubclass { return try await adaptByForms(urlRequest, using: state) }
        return try await adapted(urlRequest, state.session)
    }

    /// Whether this is an object of a subclass, which may override a form.
    private var isSubclass: Bool { type(of: self) != Adapter.self }

    private func adapted(_ urlRequest: URLRequest, _ session: Session) async throws -> URLRequest {
        switch handler {
        case .completion(let handler): try await CompletionBridge.value { handler(urlRequest, session, $0) }
        case .async(let handler): try await handler(urlRequest, session)
        }
    }
}

extension Adapter: OverridableAdapter {
    func adaptItself(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await adapted(urlRequest, state.session)
    }
}

extension Curlew.RequestAdapter where Self == Adapter {
    /// An adapter that calls a closure with a completion handler.
    public static func adapter(using closure: @escaping AdaptHandler) -> Adapter { Adapter(closure) }

    /// An adapter that calls an `async` closure.
    public static func adapter(
        using closure: @escaping @Sendable (_ request: URLRequest, _ session: Session) async throws -> URLRequest
    ) -> Adapter {
        Adapter(closure)
    }
}
