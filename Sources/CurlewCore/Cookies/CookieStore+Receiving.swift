package import Foundation

extension CookieStore {
    /// No cookie lives longer (RFC 6265bis, 5.5).
    static let maximumLifetime: TimeInterval = 400 * 86_400

    /// What a response wants to set, as far as that can be judged without the store.
    package struct Offer: Sendable {
        let host: String
        let isSecure: Bool
        let cookies: [Cookie]
    }

    /// Takes in one `Set-Cookie` header of a response from `url` (RFC 6265bis, 5.7). False where the cookie
    /// was refused.
    @discardableResult
    package mutating func receive(_ header: String, from url: URL, at now: Date) -> Bool {
        guard let offer = Self.offer([header], from: url, at: now, publicSuffixes: publicSuffixes) else { return false }
        return receive(offer, at: now) == 1
    }

    /// Takes in every `Set-Cookie` of a response's head.
    package mutating func receive(_ headers: HTTPHeaders, from url: URL, at now: Date) {
        let values = headers.values(for: "Set-Cookie")
        guard let offer = Self.offer(values, from: url, at: now, publicSuffixes: publicSuffixes) else { return }
        receive(offer, at: now)
    }

    /// How many were taken. What looks at the whole store does so once for all of them: a response may bring thousands.
    @discardableResult
    package mutating func receive(_ offer: Offer, at now: Date) -> Int {
        let shadows = offer.isSecure ? nil : SecureCookieShadows(of: domains, around: offer.host, at: now)
        return set(offer.cookies.filter { shadows?.contains($0) != true }, at: now)
    }

    /// nil where nothing may be set.
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
            // A `Path` attribute is bounded by its parser, the path of a URL is not.
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
        // A dot at the end names no domain (the web platform's tests), though it is no part of a host's name.
        guard !attribute.hasSuffix("."), let domain = Hostname.canonical(attribute) else { return nil }
        // An address has no subdomains: `www.192.168.0.10` is not part of `192.168.0.10`.
        if IPAddress(domain) != nil || isPublicSuffix(domain, publicSuffixes) {
            return domain == host ? (host, true) : nil
        }
        return Hostname.matches(host, domain: domain) ? (domain, false) : nil
    }

    private static func isPublicSuffix(_ domain: String, _ publicSuffixes: (any PublicSuffixes)?) -> Bool {
        publicSuffixes?.isPublicSuffix(domain) ?? !domain.utf8.contains(UInt8(ascii: "."))
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
}
