package import Foundation

/// The cookies of a client as a value (RFC 6265bis). It has no clock: the caller passes the time.
package struct CookieStore: Sendable {
    /// The limits for the number of cookies. Beyond them the least useful cookies are evicted (`evict`).
    package struct Limits: Sendable, Hashable {
        /// The most cookies for one domain.
        package var perDomain: Int
        /// The most cookies in total.
        package var total: Int

        /// Creates limits; the defaults are those of browsers.
        package init(perDomain: Int = 180, total: Int = 3300) {
            self.perDomain = perDomain
            self.total = total
        }
    }

    /// A cookie with the store's bookkeeping.
    struct Stored: Sendable {
        var cookie: Cookie
        /// The order in which the cookies were first stored.
        var sequence: UInt64
        var lastAccess: Date
    }

    /// Identifies a cookie within its domain.
    struct Key: Hashable, Sendable {
        let name: String
        let path: String
        let isHostOnly: Bool
    }

    package let limits: Limits
    /// The cookies by domain, so that a lookup examines only the host and its parent domains.
    private(set) var domains: [String: [Key: Stored]] = [:]
    /// The number of cookies, including expired ones.
    package private(set) var count = 0
    private var nextSequence: UInt64 = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Returns every cookie that has not expired, in the order in which the cookies were first stored.
    package func all(at now: Date) -> [Cookie] {
        domains.values.flatMap(\.values).filter { !$0.cookie.isExpired(at: now) }.sorted { $0.sequence < $1.sequence }
            .map(\.cookie)
    }

    /// Returns the cookies for `url` in the order to send them: longer paths first, then those that were stored
    /// earlier.
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

    /// Returns the value of the `Cookie` field for `url`; `nil` if there is no cookie.
    package mutating func header(for url: URL, at now: Date) -> String? {
        let cookies = cookies(for: url, at: now)
        return cookies.isEmpty ? nil : cookies.map(\.pair).joined(separator: "; ")
    }

    /// Stores a cookie, replacing the one with the same name, domain, host-only flag and path. Setting an expired
    /// cookie removes the stored one. Returns `false` if the cookie cannot be sent (control characters, too long).
    @discardableResult
    package mutating func set(_ cookie: Cookie, at now: Date) -> Bool { set([cookie], at: now) == 1 }

    /// Stores several cookies and returns the number of those accepted. The limits are enforced after the last one.
    @discardableResult
    package mutating func set(_ cookies: [Cookie], at now: Date) -> Int {
        var taken = 0
        for cookie in cookies where insert(cookie, at: now) { taken += 1 }
        evict(around: Set(cookies.map(\.domain)), at: now)
        return taken
    }

    /// Stores a cookie without enforcing the limits.
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
            // A replacement keeps its position in the order, on which servers rely.
            item.sequence = known.sequence
            item.cookie.created = known.cookie.created
        } else {
            // The cookie is new. An expired cookie counts as removed, even if it is still stored.
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

    /// Removes the cookies of a domain for which the condition does not hold.
    private mutating func keep(in domain: String, where condition: (Stored) -> Bool) {
        guard let stored = domains[domain] else { return }
        let kept = stored.filter { condition($0.value) }
        count -= stored.count - kept.count
        domains[domain] = kept.isEmpty ? nil : kept
    }

    package mutating func remove(where condition: (Cookie) -> Bool) {
        for domain in Array(domains.keys) { keep(in: domain) { !condition($0.cookie) } }
    }

    package mutating func removeAll() {
        domains = [:]
        count = 0
    }

    package mutating func removeExpired(at now: Date) { remove { $0.isExpired(at: now) } }

    static func isSecure(_ url: URL) -> Bool { url.scheme?.lowercased() == "https" }
}

extension CookieStore {
    /// Enforces the limits. The order of eviction is RFC 6265bis's: expired cookies, then cookies without `Secure` of a
    /// domain that exceeds its limit, then any of that domain, then any cookie; the least recently used first within
    /// each group. Only the `changed` domains can exceed the limit per domain.
    private mutating func evict(around changed: Set<String>, at now: Date) {
        for domain in changed where (domains[domain]?.count ?? 0) > limits.perDomain {
            keep(in: domain) { !$0.cookie.isExpired(at: now) }
            guard let stored = domains[domain] else { continue }
            let excess = stored.count - max(limits.perDomain, 0)
            guard let last = Self.smallest(excess, of: stored.values.map(Usefulness.init)) else { continue }
            keep(in: domain) { last < Usefulness($0) }
        }
        guard count > limits.total else { return }
        removeExpired(at: now)
        let excess = count - max(limits.total, 0)
        guard let last = Self.smallest(excess, of: domains.values.flatMap { $0.values.map(Age.init) }) else { return }
        for (domain, stored) in domains where stored.values.contains(where: { !(last < Age($0)) }) {
            keep(in: domain) { last < Age($0) }
        }
    }

    /// Returns the greatest of the `count` smallest values, up to which everything is evicted; `nil` if there are none.
    private static func smallest<Value: Comparable>(_ count: Int, of values: [Value]) -> Value? {
        guard count > 0, !values.isEmpty else { return nil }
        return count == 1 ? values.min() : values.sorted()[min(count, values.count) - 1]
    }

    /// The order of last use. The sequence number makes it unique.
    private struct Age: Comparable {
        let lastAccess: Date
        let sequence: UInt64

        init(_ stored: Stored) {
            lastAccess = stored.lastAccess
            sequence = stored.sequence
        }

        static func < (left: Age, right: Age) -> Bool {
            (left.lastAccess, left.sequence) < (right.lastAccess, right.sequence)
        }
    }

    private struct Usefulness: Comparable {
        let isSecure: Bool
        let age: Age

        init(_ stored: Stored) {
            isSecure = stored.cookie.isSecure
            age = Age(stored)
        }

        static func < (left: Usefulness, right: Usefulness) -> Bool {
            left.isSecure == right.isSecure ? left.age < right.age : !left.isSecure
        }
    }
}

/// The paths of cookies (RFC 6265bis, 5.1.4).
enum CookiePath {
    static func requestPath(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }

    /// The directory of the URL, which is the path of a cookie without a `Path` attribute.
    static func defaultPath(of url: URL) -> String {
        let path = requestPath(of: url)
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    static func matches(_ path: String, cookiePath: String) -> Bool {
        let (request, cookie) = (path.utf8, cookiePath.utf8)
        guard request.starts(with: cookie) else { return false }
        if request.count == cookie.count || cookie.last == UInt8(ascii: "/") { return true }
        return request[request.index(request.startIndex, offsetBy: cookie.count)] == UInt8(ascii: "/")
    }

    /// Returns all cookie paths that match `path`: the path itself, and each directory above it with and without its
    /// slash.
    static func directories(of path: String) -> [String] {
        var paths = [path]
        for slash in path.indices where path[slash] == "/" {
            paths.append(String(path[...slash]))
            if slash != path.startIndex { paths.append(String(path[..<slash])) }
        }
        return paths
    }
}
