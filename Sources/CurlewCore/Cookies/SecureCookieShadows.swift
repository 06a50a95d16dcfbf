internal import Foundation

/// Enforces "leave Secure cookies alone": a response over http must not shadow a cookie that was set over https
/// (RFC 6265bis, 5.7). Built once per response, so that the cost does not grow with the number of cookies it sets.
struct SecureCookieShadows {
    /// By name and path of the Secure cookies: the largest number of labels of a domain for which a new cookie would
    /// shadow one of them. A response may only name its host and the parents of its host, so the number of labels
    /// identifies the domain.
    private var reaches: [String: [String: Int]] = [:]

    /// Expired cookies are ignored.
    init(of domains: [String: [CookieStore.Key: CookieStore.Stored]], around host: String, at now: Date) {
        let host = Self.labels(host)
        for (domain, stored) in domains {
            let secure = stored.values.lazy.map(\.cookie).filter { $0.isSecure && !$0.isExpired(at: now) }
            guard !secure.isEmpty else { continue }
            let labels = Self.labels(domain)
            let common = zip(labels.reversed(), host.reversed()).prefix { $0 == $1 }.count
            // The cookie's domain is the host or one of its parents. Every domain that the response may name is then
            // above or below it.
            let reach = common == labels.count ? Int.max : common
            guard reach > 0 else { continue }
            for cookie in secure {
                let known = reaches[cookie.name]?[cookie.path] ?? 0
                reaches[cookie.name, default: [:]][cookie.path] = max(known, reach)
            }
        }
    }

    /// Whether storing `cookie` would shadow a Secure cookie.
    func contains(_ cookie: Cookie) -> Bool {
        guard let paths = reaches[cookie.name] else { return false }
        let labels = Self.labels(cookie.domain).count
        return CookiePath.directories(of: cookie.path).contains { path in paths[path].map { $0 >= labels } ?? false }
    }

    private static func labels(_ name: String) -> [Substring] {
        name.split(separator: ".", omittingEmptySubsequences: false)
    }
}
