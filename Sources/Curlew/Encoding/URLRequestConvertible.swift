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

/// The URL that relative URLs are resolved against, by RFC 3986, as if its path ended with a slash.
package struct BaseURL: Sendable {
    /// The base without its query, and with a slash at the end of its path. Without the slash, the last segment would
    /// be replaced.
    package let url: URL

    /// Throws `.invalidURL` if the URL's scheme is not HTTP's or WebSocket's, or if there is no host.
    package init(_ url: URL) throws(CurlewError) {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let scheme = parts.scheme,
            ["http", "https", "ws", "wss"].contains(scheme.lowercased()), parts.host?.isEmpty == false
        else {
            throw CurlewError(
                .invalidURL, phase: .creation,
                reason: "the base URL must have a host and the scheme http, https, ws or wss", url: url)
        }
        // A reference that is empty or only a fragment would be resolved to the base with its query.
        parts.percentEncodedQuery = nil
        parts.fragment = nil
        if !parts.percentEncodedPath.isEmpty, !parts.percentEncodedPath.hasSuffix("/") {
            parts.percentEncodedPath += "/"
        }
        guard let url = parts.url else { throw .invalidURL(url.absoluteString) }
        self.url = url
    }

    /// Returns a reference resolved against the base: the base itself for an empty string, and an absolute URL
    /// unchanged.
    package func resolve(_ reference: String) throws(CurlewError) -> URL {
        guard !reference.isEmpty else { return url }
        guard let resolved = URL(string: reference, relativeTo: url) else { throw .invalidURL(reference) }
        return resolved.absoluteURL
    }
}
