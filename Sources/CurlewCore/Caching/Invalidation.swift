package import Foundation

/// The stored responses that a response invalidates (RFC 9111, 4.4, and `Clear-Site-Data`).
package enum Invalidation: Sendable, Hashable {
    case none
    /// All entries of these URLs, in the form of `CacheKey.url`.
    case urls([String])
    /// All entries of the origin, as requested by the server.
    case origin(String)

    package init(method: HTTPMethod, url: URL, head: ResponseHead) {
        if Self.clearsCache(head.headers), url.scheme?.lowercased() == "https" {
            self = .origin(CacheKey(url: url).origin)
            return
        }
        guard !method.isSafe, (200..<400).contains(head.status) else {
            self = .none
            return
        }
        var urls = [CacheKey.text(of: url)]
        for name in ["Location", "Content-Location"] {
            guard let value = head.headers.value(for: name), let other = RedirectLocation.resolve(value, against: url),
                // A response must not invalidate entries of another origin.
                RedirectLocation.isSameOrigin(url, other)
            else { continue }
            let text = CacheKey.text(of: other)
            if !urls.contains(text) { urls.append(text) }
        }
        self = .urls(urls)
    }

    private static func clearsCache(_ headers: HTTPHeaders) -> Bool {
        guard let value = headers.combinedValue(for: "Clear-Site-Data") else { return false }
        return value.split(separator: ",").contains {
            let type = ASCII.trimmingBlanks(String($0))
            return type == "\"cache\"" || type == "\"*\""
        }
    }
}

/// The entries that a removal concerns.
package enum CacheRemoval: Sendable, Hashable {
    case entry(id: String, key: CacheKey, variant: String)
    case url(String)
    case origin(String)
    case everything

    package init(_ entry: CacheEntry) { self = .entry(id: entry.id, key: entry.key, variant: entry.variant) }
}

/// Removals that have failed. The entries may be outdated, so lookups ignore them until the removal succeeds.
package struct PendingCacheRemovals: Sendable {
    /// The most pending removals. Beyond that they become one removal of everything, which a store may always do.
    package static let most = 256

    // A removal that fails again gets a new number. If an earlier attempt succeeds afterwards, its number is outdated
    // and the removal stays pending.
    package private(set) var numbers: [CacheRemoval: Int] = [:]
    private var last = 0
    private var isRetrying = false

    package init() {}

    package var isEmpty: Bool { numbers.isEmpty }

    package mutating func add(_ removal: CacheRemoval) {
        last += 1
        let isFull = numbers[removal] == nil && numbers.count >= Self.most
        if removal == .everything || isFull || numbers[.everything] != nil {
            numbers = [.everything: last]
        } else {
            numbers[removal] = last
        }
    }

    /// Returns the removals to try again, in any order; the caller stops at the first failure and must then call
    /// `endRetry`. Empty if nothing is pending or another task is retrying.
    package mutating func beginRetry() -> [CacheRemoval: Int] {
        guard !isRetrying, !isEmpty else { return [:] }
        isRetrying = true
        return numbers
    }

    package mutating func endRetry() { isRetrying = false }

    /// Removes a removal from the list, unless it has failed again under another number.
    package mutating func finish(_ removal: CacheRemoval, number: Int) {
        if numbers[removal] == number { numbers[removal] = nil }
    }

    /// Whether a pending removal covers all entries of a key.
    package func cover(_ key: CacheKey) -> Bool {
        guard !isEmpty else { return false }
        return [.everything, .url(key.url), .origin(key.origin)].contains { numbers[$0] != nil }
    }

    package func cover(_ entry: CacheEntry) -> Bool {
        guard !isEmpty else { return false }
        return numbers[CacheRemoval(entry)] != nil || cover(entry.key)
    }

    /// Filters the result of a lookup. `self` is the state before the lookup and `later` the state after it. Both
    /// apply: a removal that was completed during the lookup may have been too late for its result.
    package func uncovered(_ found: [StoredEntry], _ later: PendingCacheRemovals) -> [StoredEntry] {
        guard !(isEmpty && later.isEmpty) else { return found }
        return found.filter { !cover($0.entry) && !later.cover($0.entry) }
    }
}
