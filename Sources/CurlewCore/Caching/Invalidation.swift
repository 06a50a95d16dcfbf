package import Foundation

/// The stored responses that a response invalidates (RFC 9111, 4.4, and `Clear-Site-Data`).
package enum Invalidation: Sendable, Hashable {
    case none
    /// All entries of these URLs, in the form of `CacheKey.url`.
    case urls([String])
    /// All entries of the origin, as requested by the server.
    case origin(String)

    package init(method: HTTPMethod, url: URL, head: ResponseHead) {
        if Self.clearsCache(head.headers), url.scheme?.lowercased() == "https" {
            self = .origin(CacheKey(url: url).origin)
            return
        }
        guard !method.isSafe, (200..<400).contains(head.status) else {
            self = .none
            return
        }
        var urls = [CacheKey.text(of: url)]
        for name in ["Location", "Content-Location"] {
            guard let value = head.headers.value(for: name), let other = RedirectLocation.resolve(value, against: url),
                // A response must not invalidate entries of another origin.
                RedirectLocation.isSameOrigin(url, other)
            else { continue }
            let text = CacheKey.text(of: other)
            if !urls.contains(text) { urls.append(text) }
        }
        self = .urls(urls)
    }

    private static func clearsCache(_ headers: HTTPHeaders) -> Bool {
        guard let value = headers.combinedValue(for: "Clear-Site-Data") else { return false }
        return value.split(separator: ",").contains {
            let type = ASCII.trimmingBlanks(String($0))
            return type == "\"cache\"" || type == "\"*\""
        }
    }
}
