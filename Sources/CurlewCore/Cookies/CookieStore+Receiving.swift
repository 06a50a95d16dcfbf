public import Foundation

extension CookieStore {
    /// No cookie lives longer (RFC 6265bis, 5.5).
    static let maximumLifetime: TimeInterval = 400 * 86_400

    /// Takes in one `Set-Cookie` header of a response from `url` (RFC 6265bis, 5.7). False where the cookie
    /// was refused.
    @discardableResult
    public mutating func receive(_ header: String, from url: URL, at now: Date) -> Bool {
        guard let parsed = SetCookieParser.parse(header), let host = Hostname.canonical(of: url),
            let (domain, isHostOnly) = domain(of: parsed, host: host)
        else { return false }
        let isSecureOrigin = Self.isSecure(url)
        guard isSecureOrigin || !parsed.isSecure, Self.keepsPrefixPromise(parsed, isHostOnly: isHostOnly) else {
            return false
        }
        let cookie = Cookie(
            name: parsed.name,
            value: parsed.value,
            domain: domain,
            path: parsed.path.flatMap { $0.isEmpty ? nil : $0 } ?? CookiePath.defaultPath(of: url),
            expires: Self.expiry(of: parsed, at: now),
            isSecure: parsed.isSecure,
            isHTTPOnly: parsed.isHTTPOnly,
            isHostOnly: isHostOnly,
            sameSite: parsed.sameSite,
            created: now
        )
        guard isSecureOrigin || !wouldShadowSecureCookie(cookie) else { return false }
        return set(cookie, at: now)
    }

    /// Takes in every `Set-Cookie` of a response's head.
    public mutating func receive(_ headers: HTTPHeaders, from url: URL, at now: Date) {
        for value in headers.values(for: "Set-Cookie") { receive(value, from: url, at: now) }
    }

    private func domain(of parsed: SetCookie, host: String) -> (String, isHostOnly: Bool)? {
        guard let attribute = parsed.domain, !attribute.isEmpty else { return (host, true) }
        guard let domain = Hostname.canonical(attribute) else { return nil }
        if isPublicSuffix(domain) { return domain == host ? (host, true) : nil }
        return Hostname.matches(host, domain: domain) ? (domain, false) : nil
    }

    private func isPublicSuffix(_ domain: String) -> Bool {
        if IPAddress(domain) != nil { return false }
        return publicSuffixes?.isPublicSuffix(domain) ?? !domain.utf8.contains(UInt8(ascii: "."))
    }

    /// `__Secure-` and `__Host-` promise what the server cannot see otherwise. A value must not fake a name.
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

    /// "Leave Secure cookies alone": http must not overlay a cookie that https set.
    private func wouldShadowSecureCookie(_ cookie: Cookie) -> Bool {
        domains.contains { domain, stored in
            guard Hostname.matches(domain, domain: cookie.domain) || Hostname.matches(cookie.domain, domain: domain)
            else { return false }
            return stored.contains {
                $0.cookie.isSecure && $0.cookie.name == cookie.name
                    && CookiePath.matches(cookie.path, cookiePath: $0.cookie.path)
            }
        }
    }
}
