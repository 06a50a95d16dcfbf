package import Foundation

extension CookieStore {
    /// The longest lifetime of a cookie (RFC 6265bis, 5.5).
    private static let maximumLifetime: TimeInterval = 400 * 86_400

    /// The cookies that a response sets, after all checks that do not need the store.
    package struct Offer: Sendable {
        let host: String
        let isSecure: Bool
        let cookies: [Cookie]
    }

    /// Stores the offered cookies and returns the number of those accepted. `SecureCookieShadows` and the eviction scan
    /// the store once for all cookies, because a response may set thousands.
    @discardableResult
    package mutating func receive(_ offer: Offer, at now: Date) -> Int {
        let shadows = offer.isSecure ? nil : SecureCookieShadows(of: domains, around: offer.host, at: now)
        return set(offer.cookies.filter { shadows?.contains($0) != true }, at: now)
    }

    /// Parses and checks the `Set-Cookie` fields of a response from `url` (RFC 6265bis, 5.7). `nil` if they set no
    /// cookie. Without `publicSuffixes` every name with a single label counts as a public suffix.
    package static func offer(
        _ headers: [String],
        from url: URL,
        at now: Date,
        publicSuffixes: (any PublicSuffixes)?
    ) -> Offer? {
        guard !headers.isEmpty, let host = Hostname.canonical(of: url) else { return nil }
        let isSecure = isSecure(url)
        let defaultPath = CookiePath.defaultPath(of: url)
        let cookies = headers.compactMap { header -> Cookie? in
            guard let parsed = SetCookieParser.parse(header),
                let (domain, isHostOnly) = domain(of: parsed, host: host, publicSuffixes),
                isSecure || !parsed.isSecure, keepsPrefixPromise(parsed, isHostOnly: isHostOnly)
            else { return nil }
            let path = parsed.path.flatMap { $0.isEmpty ? nil : $0 } ?? defaultPath
            // The parser bounds the `Path` attribute, but not the path of the URL.
            guard path.utf8.count <= SetCookieParser.maximumAttributeLength else { return nil }
            return Cookie(
                name: parsed.name,
                value: parsed.value,
                domain: domain,
                path: path,
                expires: expiry(of: parsed, at: now),
                isSecure: parsed.isSecure,
                isHTTPOnly: parsed.isHTTPOnly,
                isHostOnly: isHostOnly,
                sameSite: parsed.sameSite,
                created: now
            )
        }
        return cookies.isEmpty ? nil : Offer(host: host, isSecure: isSecure, cookies: cookies)
    }

    private static func domain(
        of parsed: SetCookie,
        host: String,
        _ publicSuffixes: (any PublicSuffixes)?
    ) -> (String, isHostOnly: Bool)? {
        guard let attribute = parsed.domain, !attribute.isEmpty else { return (host, true) }
        // A domain with a trailing dot is refused, as the web platform tests require, although the dot is no part of a
        // host name.
        guard !attribute.hasSuffix("."), let domain = Hostname.canonical(attribute) else { return nil }
        // An address has no subdomains: `www.192.168.0.10` does not belong to `192.168.0.10`.
        if IPAddress(domain) != nil || isPublicSuffix(domain, publicSuffixes) {
            return domain == host ? (host, true) : nil
        }
        return Hostname.matches(host, domain: domain) ? (domain, false) : nil
    }

    private static func isPublicSuffix(_ domain: String, _ publicSuffixes: (any PublicSuffixes)?) -> Bool {
        publicSuffixes?.isPublicSuffix(domain) ?? !domain.utf8.contains(UInt8(ascii: "."))
    }

    /// Whether a cookie fulfils the conditions of the prefixes `__Secure-` and `__Host-`, on which servers rely. A
    /// cookie without a name must not imitate a prefix with its value.
    private static func keepsPrefixPromise(_ parsed: SetCookie, isHostOnly: Bool) -> Bool {
        let name = ASCII.lowercased(parsed.name.isEmpty ? parsed.value : parsed.name)
        let isHost = name.hasPrefix("__host-")
        guard isHost || name.hasPrefix("__secure-") else { return true }
        guard !parsed.name.isEmpty, parsed.isSecure else { return false }
        return !isHost || isHostOnly && parsed.path == "/"
    }

    private static func expiry(of parsed: SetCookie, at now: Date) -> Date? {
        switch parsed.lifetime {
        case .seconds(let seconds) where seconds <= 0: .distantPast
        case .seconds(let seconds): now.addingTimeInterval(min(Double(seconds), maximumLifetime))
        case .until(let date): min(date, now.addingTimeInterval(maximumLifetime))
        case nil: nil
        }
    }
}

/// Enforces "leave Secure cookies alone": a response over http must not shadow a cookie that was set over https
/// (RFC 6265bis, 5.7). Built once per response, so that the cost does not grow with the number of cookies it sets.
private struct SecureCookieShadows {
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
