public import CurlewCore
internal import Foundation
public import FoundationNetworking

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
