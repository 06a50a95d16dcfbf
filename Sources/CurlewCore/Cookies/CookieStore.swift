public import Foundation

/// The cookies of a client, as a value: RFC 6265bis, with time passed in.
public struct CookieStore: Sendable {
    /// How many cookies are kept; above that the least useful go (`evict`).
    public struct Limits: Sendable, Hashable {
        /// At most so many for one domain.
        public var perDomain: Int
        /// At most so many altogether.
        public var total: Int

        /// Makes limits; the defaults are what browsers have.
        public init(perDomain: Int = 180, total: Int = 3300) {
            self.perDomain = perDomain
            self.total = total
        }
    }

    /// A cookie with what only its place in the store gives it.
    struct Stored: Sendable {
        var cookie: Cookie
        /// Orders cookies of the same moment.
        var sequence: UInt64
        var lastAccess: Date
    }

    /// How many cookies are kept.
    public let limits: Limits
    let publicSuffixes: (any PublicSuffixes)?
    /// By domain, so that only a host's own names are looked at.
    var domains: [String: [Stored]] = [:]
    private var nextSequence: UInt64 = 0

    /// Without `publicSuffixes` every name of one label counts as one.
    public init(limits: Limits = Limits(), publicSuffixes: (any PublicSuffixes)? = nil) {
        self.limits = limits
        self.publicSuffixes = publicSuffixes
    }

    /// Every cookie that has not expired, oldest first.
    public func all(at now: Date) -> [Cookie] {
        domains.values.joined().filter { !$0.cookie.isExpired(at: now) }.sorted { $0.sequence < $1.sequence }
            .map(\.cookie)
    }

    /// How many cookies there are, expired ones included.
    public var count: Int { domains.values.reduce(0) { $0 + $1.count } }

    /// The cookies to send to `url`, in the order to send them: longer paths first, then older ones.
    public mutating func cookies(for url: URL, at now: Date) -> [Cookie] {
        guard let host = Hostname.canonical(of: url) else { return [] }
        let path = CookiePath.requestPath(of: url)
        let isSecure = CookieStore.isSecure(url)
        var found: [Stored] = []
        for domain in Hostname.withParents(host) {
            guard let stored = domains[domain] else { continue }
            for (index, item) in stored.enumerated() {
                let cookie = item.cookie
                guard !cookie.isHostOnly || domain == host, isSecure || !cookie.isSecure, !cookie.isExpired(at: now),
                    CookiePath.matches(path, cookiePath: cookie.path)
                else { continue }
                domains[domain]?[index].lastAccess = now
                found.append(item)
            }
        }
        found.sort {
            let (left, right) = ($0.cookie.path.utf8.count, $1.cookie.path.utf8.count)
            return left == right ? $0.sequence < $1.sequence : left > right
        }
        return found.map(\.cookie)
    }

    /// The value of the `Cookie` header for `url`; nil for none.
    public mutating func header(for url: URL, at now: Date) -> String? {
        let cookies = cookies(for: url, at: now)
        return cookies.isEmpty ? nil : cookies.map(\.pair).joined(separator: "; ")
    }

    /// Puts a cookie in, in the place of one with the same name, domain and path. False where it cannot be
    /// sent (control characters, too long). An expired one removes.
    @discardableResult
    public mutating func set(_ cookie: Cookie, at now: Date) -> Bool {
        guard cookie.isSendable else { return false }
        var stored = domains[cookie.domain] ?? []
        let index = stored.firstIndex {
            $0.cookie.name == cookie.name && $0.cookie.path == cookie.path
                && $0.cookie.isHostOnly == cookie.isHostOnly
        }
        var item = Stored(cookie: cookie, sequence: nextSequence, lastAccess: now)
        if let index {
            // The place among its likes stays: servers rely on the order.
            item.sequence = stored[index].sequence
            item.cookie.created = stored[index].cookie.created
            if cookie.isExpired(at: now) { stored.remove(at: index) } else { stored[index] = item }
        } else if !cookie.isExpired(at: now) {
            stored.append(item)
            nextSequence += 1
        }
        domains[cookie.domain] = stored.isEmpty ? nil : stored
        evict(around: cookie.domain, at: now)
        return true
    }

    /// Removes the cookies for which `condition` holds.
    public mutating func remove(where condition: (Cookie) -> Bool) {
        domains = domains.compactMapValues { stored in
            let kept = stored.filter { !condition($0.cookie) }
            return kept.isEmpty ? nil : kept
        }
    }

    /// Forgets every cookie.
    public mutating func removeAll() { domains = [:] }

    /// Removes what has expired.
    public mutating func removeExpired(at now: Date) { remove { $0.isExpired(at: now) } }

    static func isSecure(_ url: URL) -> Bool { url.scheme?.lowercased() == "https" }
}
