internal import CurlewCore
internal import CurlewFailures
package import Foundation
internal import FoundationNetworking

/// The URL that relative URLs are resolved against, by RFC 3986, as if its path ended with a slash.
package struct BaseURL: Sendable {
    /// The base with the slash at the end of its path. Without it, the last segment would be replaced.
    package let url: URL

    /// Throws `.invalidURL` if the URL has no scheme or no host.
    package init(_ url: URL) throws(CurlewError) {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true), parts.scheme != nil,
            parts.host?.isEmpty == false
        else {
            throw CurlewError(
                .invalidURL, phase: .creation, reason: "the base URL must have a scheme and a host", url: url)
        }
        if !parts.percentEncodedPath.isEmpty, !parts.percentEncodedPath.hasSuffix("/") {
            parts.percentEncodedPath += "/"
        }
        guard let url = parts.url else { throw .invalidURL(of: url.absoluteString) }
        self.url = url
    }

    /// Returns a reference resolved against the base: the base itself for an empty string, an absolute URL as it is.
    package func resolve(_ reference: String) throws(CurlewError) -> URL {
        guard !reference.isEmpty else { return url }
        guard let resolved = URL(string: reference, relativeTo: url) else { throw .invalidURL(of: reference) }
        return resolved.absoluteURL
    }
}

extension URL {
    /// Returns an absolute URL as it is, and any other resolved against the base, if there is one. A failure is the reason why
    /// the base cannot be used.
    func absolute(against base: Result<BaseURL, CurlewError>?) throws(CurlewError) -> URL {
        guard let base, scheme == nil else { return self }
        return try base.get().resolve(relativeString)
    }
}

extension URLRequest {
    /// Returns the request with its URL resolved against the session's base URL.
    func absolute(in context: SessionContext) throws(CurlewError) -> URLRequest {
        guard let base = context.baseURL, let url, url.scheme == nil else { return self }
        var request = self
        request.url = try url.absolute(against: base)
        return request
    }
}
