internal import Foundation

/// "Leave Secure cookies alone": http must not overlay a cookie that https set (RFC 6265bis, 5.7). Which cookies of one
/// host would, worked out once for a response, however many cookies it sets.
struct SecureCookieShadows {
    /// By name and path: how many labels the domain of another cookie may have that would be overlaid by it. All domains
    /// that a host may name are its own ends, so that their number of labels tells them apart.
    private var reaches: [String: [String: Int]] = [:]

    /// Cookies that have expired count as gone.
    init(of domains: [String: [CookieStore.Key: CookieStore.Stored]], around host: String, at now: Date) {
        let host = Self.labels(host)
        for (domain, stored) in domains {
            let secure = stored.values.lazy.map(\.cookie).filter { $0.isSecure && !$0.isExpired(at: now) }
            guard !secure.isEmpty else { continue }
            let labels = Self.labels(domain)
            let common = zip(labels.reversed(), host.reversed()).prefix { $0 == $1 }.count
            // The host itself or a name above it: every domain of the host is below or above that one.
            let reach = common == labels.count ? Int.max : common
            guard reach > 0 else { continue }
            for cookie in secure {
                let known = reaches[cookie.name]?[cookie.path] ?? 0
                reaches[cookie.name, default: [:]][cookie.path] = max(known, reach)
            }
        }
    }

    func contains(_ cookie: Cookie) -> Bool {
        guard let paths = reaches[cookie.name] else { return false }
        let labels = Self.labels(cookie.domain).count
        return CookiePath.directories(of: cookie.path).contains { path in paths[path].map { $0 >= labels } ?? false }
    }

    private static func labels(_ name: String) -> [Substring] {
        name.split(separator: ".", omittingEmptySubsequences: false)
    }
}
