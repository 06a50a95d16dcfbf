package import Foundation

/// Takes out of a URL what must never be printed: user information and query values.
package enum Redaction {
    package static func redacted(_ url: URL) -> URL {
        guard url.user != nil || url.password != nil || url.query != nil,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return url }
        parts.user = nil
        parts.password = nil
        parts.percentEncodedQuery = parts.percentEncodedQuery.map(redactedQuery)
        // A URL that cannot be taken apart and put together again is not shown at all.
        return parts.url ?? URL(filePath: "/")
    }

    static func redactedQuery(_ query: String) -> String {
        query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
            return pair[...equals] + "_"
        }.joined(separator: "&")
    }
}
