package import Foundation

/// The cookies of a client, as a value: RFC 6265bis, with time passed in.
package struct CookieStore: Sendable {
    /// How many cookies are kept; above that the least useful go (`evict`).
    package struct Limits: Sendable, Hashable {
        /// At most so many for one domain.
        package var perDomain: Int
        /// At most so many altogether.
        package var total: Int

        /// Makes limits; the defaults are what browsers have.
        package init(perDomain: Int = 180, total: Int = 3300) {
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

    /// What no two cookies of a domain have in common.
    struct Key: Hashable, Sendable {
        let name: String
        let path: String
        let isHostOnly: Bool
    }

    /// How many cookies are kept.
    package let limits: Limits
    let publicSuffixes: (any PublicSuffixes)?
    /// By domain, so that only a host's own names are looked at.
    private(set) var domains: [String: [Key: Stored]] = [:]
    /// How many cookies there are, expired ones included.
    public private(set) var count = 0
    private var nextSequence: UInt64 = 0

    /// Without `publicSuffixes` every name of one label counts as one.
    package init(limits: Limits = Limits(), publicSuffixes: (any PublicSuffixes)? = nil) {
        self.limits = limits
        self.publicSuffixes = publicSuffixes
    }

    /// Every cookie that has not expired, oldest first.
    package func all(at now: Date) -> [Cookie] {
        domains.values.flatMap(\.values).filter { !$0.cookie.isExpired(at: now) }.sorted { $0.sequence < $1.sequence }
            .map(\.cookie)
    }

    /// The cookies to send to `url`, in the order to send them: longer paths first, then older ones.
    package mutating func cookies(for url: URL, at now: Date) -> [Cookie] {
        guard let host = Hostname.canonical(of: url) else { return [] }
        let path = CookiePath.requestPath(of: url)
        let isSecure = CookieStore.isSecure(url)
        var found: [Stored] = []
        for domain in Hostname.withParents(host) {
            guard let slot = domains.index(forKey: domain) else { continue }
            var place = domains.values[slot].startIndex
            while place != domains.values[slot].endIndex {
                defer { domains.values[slot].formIndex(after: &place) }
                let item = domains.values[slot].values[place]
                let cookie = item.cookie
                guard !cookie.isHostOnly || domain == host, isSecure || !cookie.isSecure, !cookie.isExpired(at: now),
                    CookiePath.matches(path, cookiePath: cookie.path)
                else { continue }
                domains.values[slot].values[place].lastAccess = now
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
    package mutating func header(for url: URL, at now: Date) -> String? {
        let cookies = cookies(for: url, at: now)
        return cookies.isEmpty ? nil : cookies.map(\.pair).joined(separator: "; ")
    }

    /// Puts a cookie in, in the place of one with the same name, domain and path. False where it cannot be
    /// sent (control characters, too long). An expired one removes.
    @discardableResult
    package mutating func set(_ cookie: Cookie, at now: Date) -> Bool { set([cookie], at: now) == 1 }

    /// Puts several in, and says how many could be. The limits are kept after the last one.
    @discardableResult
    package mutating func set(_ cookies: [Cookie], at now: Date) -> Int {
        var taken = 0
        for cookie in cookies where insert(cookie, at: now) { taken += 1 }
        evict(around: Set(cookies.map(\.domain)), at: now)
        return taken
    }

    /// Without a look at the limits.
    private mutating func insert(_ cookie: Cookie, at now: Date) -> Bool {
        guard cookie.isSendable else { return false }
        let key = Key(name: cookie.name, path: cookie.path, isHostOnly: cookie.isHostOnly)
        let known = domains[cookie.domain]?[key]
        guard !cookie.isExpired(at: now) else {
            if known != nil { remove(key, of: cookie.domain) }
            return true
        }
        var item = Stored(cookie: cookie, sequence: nextSequence, lastAccess: now)
        if known == nil { count += 1 }
        if let known, !known.cookie.isExpired(at: now) {
            // The place among its likes stays: servers rely on the order.
            item.sequence = known.sequence
            item.cookie.created = known.cookie.created
        } else {
            // One that has expired is gone, though it may still lie here.
            nextSequence += 1
        }
        domains[cookie.domain, default: [:]][key] = item
        return true
    }

    private mutating func remove(_ key: Key, of domain: String) {
        guard domains[domain]?.removeValue(forKey: key) != nil else { return }
        count -= 1
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
    }

    /// Removes those of a domain for which the condition does not hold.
    mutating func keep(in domain: String, where condition: (Stored) -> Bool) {
        guard let stored = domains[domain] else { return }
        let kept = stored.filter { condition($0.value) }
        count -= stored.count - kept.count
        domains[domain] = kept.isEmpty ? nil : kept
    }

    /// Removes the cookies for which `condition` holds.
    package mutating func remove(where condition: (Cookie) -> Bool) {
        for domain in Array(domains.keys) { keep(in: domain) { !condition($0.cookie) } }
    }

    /// Forgets every cookie.
    package mutating func removeAll() {
        domains = [:]
        count = 0
    }

    /// Removes what has expired.
    package mutating func removeExpired(at now: Date) { remove { $0.isExpired(at: now) } }

    static func isSecure(_ url: URL) -> Bool { url.scheme?.lowercased() == "https" }
}
