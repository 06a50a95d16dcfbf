internal import Foundation
public import FoundationNetworking

/// A value that can be turned into a `URLRequest`: a router's case, an endpoint, a request itself.
///
/// `asURLRequest()` is called once per attempt, so a retry may send a different request.
public protocol URLRequestConvertible: Sendable {
    /// Returns the request, or throws if none can be made.
    func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
    /// The request, or `nil` if it cannot be made.
    public var urlRequest: URLRequest? { try? asURLRequest() }
}

extension URLRequest: URLRequestConvertible {
    /// Returns the request itself.
    public func asURLRequest() throws -> URLRequest { self }
}
