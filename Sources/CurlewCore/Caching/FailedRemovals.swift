/// The failed removals of one store, which it repeats until they succeed.
///
/// A store passes every lookup and every insertion through this object. `attempt` is the store's way to carry out a
/// removal; it returns whether the removal succeeded.
package actor FailedRemovals {
    package private(set) var pending = PendingCacheRemovals()

    package init() {}

    /// Records a removal that has failed.
    package func add(_ removal: CacheRemoval) { pending.add(removal) }

    /// Looks up the entries of a key, and leaves out those that a failed removal concerns. Calls `startRetry` if there
    /// are failed removals: the lookup does not wait for their repetition.
    package nonisolated func entries(
        for key: CacheKey,
        startRetry: () -> Void,
        lookUp: (CacheKey) async -> [StoredEntry]
    ) async -> [StoredEntry] {
        let before = await pending
        if !before.isEmpty { startRetry() }
        guard !before.cover(key) else { return [] }
        return before.uncovered(await lookUp(key), await pending)
    }

    /// Whether an entry may be stored under a key. A failed removal that covers the key has to succeed first: its
    /// repetition would otherwise remove the new entry.
    package nonisolated func mayStore(_ key: CacheKey, retry: () async -> Void) async -> Bool {
        guard await !pending.isEmpty else { return true }
        await retry()
        return await !pending.cover(key)
    }

    /// Repeats the failed removals, up to the first that fails again. Returns at once if another task is doing so.
    package nonisolated func retry(_ attempt: (CacheRemoval) async -> Bool) async {
        let taken = await beginRetry()
        guard !taken.isEmpty else { return }
        for (removal, number) in taken {
            guard await attempt(removal) else { break }
            await finish(removal, number: number)
        }
        await endRetry()
    }

    private func beginRetry() -> [CacheRemoval: Int] { pending.beginRetry() }

    private func finish(_ removal: CacheRemoval, number: Int) { pending.finish(removal, number: number) }

    private func endRetry() { pending.endRetry() }
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
    package static let maximumCount = 256

    // A removal that fails again gets a new number. If an earlier attempt succeeds afterwards, its number is outdated
    // and the removal stays pending.
    package private(set) var numbers: [CacheRemoval: Int] = [:]
    private var last = 0
    private var isRetrying = false

    package init() {}

    package var isEmpty: Bool { numbers.isEmpty }

    package mutating func add(_ removal: CacheRemoval) {
        last += 1
        let isFull = numbers[removal] == nil && numbers.count >= Self.maximumCount
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
    fileprivate func uncovered(_ found: [StoredEntry], _ later: PendingCacheRemovals) -> [StoredEntry] {
        guard !(isEmpty && later.isEmpty) else { return found }
        return found.filter { !cover($0.entry) && !later.cover($0.entry) }
    }
}
