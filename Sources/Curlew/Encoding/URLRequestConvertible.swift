public import CurlewCore
public import Foundation
public import FoundationNetworking

/// A value that can be turned into a URL: a string, a URL, its components.
public protocol URLConvertible: Sendable {
    /// Returns the URL, or throws a `CurlewError` with the code `.invalidURL`.
    func asURL() throws -> URL
}

extension String: URLConvertible {
    public func asURL() throws -> URL {
        guard let url = URL(string: self) else { throw CurlewError.invalidURL(self) }
        return url
    }
}

extension URL: URLConvertible {
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    public func asURL() throws -> URL {
        guard let url else { throw CurlewError.invalidURL(self) }
        return url
    }
}

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

extension URLRequest {
    /// Creates a request. Throws if `url` is not a valid URL.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        self.init(url: try url.asURL())
        if method != .get { httpMethod = method.rawValue }
        if let headers { self.headers = headers }
    }

    /// `httpMethod` as an `HTTPMethod`.
    public var method: HTTPMethod? {
        get { httpMethod.map(HTTPMethod.init(rawValue:)) }
        set { httpMethod = newValue?.rawValue }
    }

    /// `allHTTPHeaderFields` as `HTTPHeaders`. Setting it replaces all fields.
    public var headers: HTTPHeaders {
        get { allHTTPHeaderFields.map(HTTPHeaders.init) ?? HTTPHeaders() }
        set { allHTTPHeaderFields = newValue.dictionary }
    }

    /// Throws if the request is a GET request with a body, which cannot be sent.
    public func validate() throws {
        if let body = httpBody, httpMethod == nil || httpMethod == "GET" {
            throw CurlewError.bodyNotAllowed(body)
        }
    }
}

extension HTTPURLResponse {
    /// The header fields as Foundation stores them: repeated fields are merged or lost. `ResponseHead` has all of them.
    public var headers: HTTPHeaders {
        HTTPHeaders(
            allHeaderFields.reduce(into: [:]) { fields, field in
                if let name = field.key as? String, let value = field.value as? String { fields[name] = value }
            }
        )
    }
}
