internal import Foundation

extension CookieStore {
    /// Enforces the limits. The order of eviction is RFC 6265bis's: expired cookies, then cookies without `Secure` of a
    /// domain that exceeds its limit, then any of that domain, then any cookie; the least recently used first within
    /// each group. Only the `changed` domains can exceed the limit per domain.
    mutating func evict(around changed: Set<String>, at now: Date) {
        for domain in changed where (domains[domain]?.count ?? 0) > limits.perDomain {
            keep(in: domain) { !$0.cookie.isExpired(at: now) }
            guard let stored = domains[domain],
                let last = Self.last(of: stored.count - max(limits.perDomain, 0), stored)
            else { continue }
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

    /// The most useful of the `excess` least useful cookies: everything up to it is evicted.
    private static func last(of excess: Int, _ stored: [Key: Stored]) -> Usefulness? {
        smallest(excess, of: stored.values.map(Usefulness.init))
    }

    /// The greatest of the `count` smallest values; `nil` if there are none.
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
