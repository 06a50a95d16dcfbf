internal import CurlewCore
package import Foundation
internal import FoundationNetworking

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

extension URL {
    /// Returns an absolute URL unchanged, and any other resolved against the base, if there is one. A failure is the
    /// reason why the base cannot be used.
    func absolute(against base: Result<BaseURL, CurlewError>?) throws(CurlewError) -> URL {
        guard let base, scheme == nil else { return self }
        return try base.get().resolve(absoluteString)
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
