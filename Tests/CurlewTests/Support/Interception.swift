import Curlew
import CurlewTesting
import Foundation

/// A middleware that calls a closure.
struct Wrap: RequestMiddleware {
    let body: @Sendable (URLRequest, Next) async throws -> Reply

    init(_ body: @escaping @Sendable (URLRequest, Next) async throws -> Reply) { self.body = body }

    func intercept(_ request: URLRequest, next: Next) async throws -> Reply { try await body(request, next) }
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
