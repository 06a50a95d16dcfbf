internal import Foundation

extension CookieStore {
    /// Keeps the limits, in RFC 6265bis's order: expired ones go first, then of a domain with too many those
    /// that are not Secure, then any of it, then any at all; among equals the one longest not used.
    mutating func evict(around domain: String, at now: Date) {
        if (domains[domain]?.count ?? 0) > limits.perDomain {
            domains[domain]?.removeAll { $0.cookie.isExpired(at: now) }
            while (domains[domain]?.count ?? 0) > max(limits.perDomain, 0) {
                guard let stored = domains[domain], let victim = Self.leastUseful(stored) else { break }
                domains[domain]?.remove(at: victim)
            }
        }
        guard count > limits.total else { return }
        removeExpired(at: now)
        while count > max(limits.total, 0) {
            let oldest = domains.compactMap { entry in
                entry.value.indices.min { entry.value[$0].lastAccess < entry.value[$1].lastAccess }
                    .map { (domain: entry.key, index: $0, item: entry.value[$0]) }
            }
            .min { ($0.item.lastAccess, $0.item.sequence) < ($1.item.lastAccess, $1.item.sequence) }
            guard let oldest else { return }
            domains[oldest.domain]?.remove(at: oldest.index)
            if domains[oldest.domain]?.isEmpty == true { domains[oldest.domain] = nil }
        }
    }

    private static func leastUseful(_ stored: [Stored]) -> Int? {
        stored.indices.min { left, right in
            let (first, second) = (stored[left], stored[right])
            if first.cookie.isSecure != second.cookie.isSecure { return !first.cookie.isSecure }
            return (first.lastAccess, first.sequence) < (second.lastAccess, second.sequence)
        }
    }
}
