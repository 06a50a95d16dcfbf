import Curlew
import CurlewLocks
import CurlewTesting
import Foundation

/// A middleware that calls a closure.
struct Wrap: RequestMiddleware {
    let body: @Sendable (URLRequest, Next) async throws -> Reply

    init(_ body: @escaping @Sendable (URLRequest, Next) async throws -> Reply) { self.body = body }

    func intercept(_ request: URLRequest, next: Next) async throws -> Reply { try await body(request, next) }
}

extension Wrap {
    /// Passes the reply on unchanged.
    static let passing = Wrap { request, next in try await next(request) }

    /// Keeps the first reply, and returns it to every later request.
    static func keeping() -> Wrap {
        let kept = Lock<Reply?>(nil)
        return Wrap { request, next in
            if let reply = kept.withLock({ $0 }) { return reply }
            let reply = try await next(request)
            kept.withLock { $0 = reply }
            return reply
        }
    }
}

extension Session {
    /// Creates a session with middleware.
    init(
        over transport: MockTransport,
        _ middleware: any RequestMiddleware...,
        change: (inout SessionConfiguration) -> Void = { _ in }
    ) {
        var configuration = SessionConfiguration()
        configuration.middleware = middleware
        change(&configuration)
        self.init(configuration: configuration, transport: transport)
    }
}

/// An exchange adapter that calls a closure.
struct EachExchange: ExchangeAdapter {
    let body: @Sendable (inout URLRequest, ExchangeInfo) async throws -> Void

    init(_ body: @escaping @Sendable (inout URLRequest, ExchangeInfo) async throws -> Void) { self.body = body }

    func adapt(_ urlRequest: URLRequest, for exchange: ExchangeInfo) async throws -> URLRequest {
        var request = urlRequest
        try await body(&request, exchange)
        return request
    }
}

/// A failure of user code.
struct UserFailure: Error, Equatable {}
