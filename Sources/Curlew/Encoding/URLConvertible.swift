internal import CurlewCore
public import Foundation

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
