internal import Foundation
public import FoundationNetworking

/// What can be turned into a `URLRequest`: a router's case, an endpoint, a request itself.
///
/// It is asked once per attempt, so that a retry sends what is right by then.
public protocol URLRequestConvertible: Sendable {
    /// Answers the request, or throws where none can be made.
    func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
    /// The request, or nil where it cannot be made.
    public var urlRequest: URLRequest? { try? asURLRequest() }
}

extension URLRequest: URLRequestConvertible {
    /// Returns the request itself.
    public func asURLRequest() throws -> URLRequest { self }
}
