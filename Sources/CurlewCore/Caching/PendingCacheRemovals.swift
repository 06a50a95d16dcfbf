/// What is to be removed.
package enum CacheRemoval: Sendable, Hashable {
    case entry(id: String, key: CacheKey, variant: String)
    case url(String)
    case origin(String)
    case everything

    package init(_ entry: CacheEntry) { self = .entry(id: entry.id, key: entry.key, variant: entry.variant) }
}

/// Removals that have failed. What they name may be out of date: until they are done it is not found.
package struct PendingCacheRemovals: Sendable {
    /// More of them become the removal of everything, which a store may always do.
    package static let most = 256

    // A removal that fails again gets another number: an earlier attempt that ends now has not done it.
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

    /// What is to be tried again, until one fails; empty where there is nothing, and while another task does so. A task that gets
    /// some calls `endRetry` at last.
    package mutating func beginRetry() -> [CacheRemoval: Int] {
        guard !isRetrying, !isEmpty else { return [:] }
        isRetrying = true
        return numbers
    }

    package mutating func endRetry() { isRetrying = false }

    /// The removal that had this number is done.
    package mutating func finish(_ removal: CacheRemoval, number: Int) {
        if numbers[removal] == number { numbers[removal] = nil }
    }

    /// Whether all that stands under a key was to be removed.
    package func cover(_ key: CacheKey) -> Bool {
        guard !isEmpty else { return false }
        return [.everything, .url(key.url), .origin(key.origin)].contains { numbers[$0] != nil }
    }

    package func cover(_ entry: CacheEntry) -> Bool {
        guard !isEmpty else { return false }
        return numbers[CacheRemoval(entry)] != nil || cover(entry.key)
    }

    /// What a lookup may give that began while this was pending and ended while `later` was: a removal that is done meanwhile may
    /// have come too late for it.
    package func uncovered(_ found: [StoredEntry], _ later: PendingCacheRemovals) -> [StoredEntry] {
        guard !(isEmpty && later.isEmpty) else { return found }
        return found.filter { !cover($0.entry) && !later.cover($0.entry) }
    }
}
