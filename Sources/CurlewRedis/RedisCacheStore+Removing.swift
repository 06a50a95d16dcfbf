public import CurlewCore
internal import CurlewLocks
internal import Foundation

extension RedisCacheStore {
    public func remove(_ entry: CacheEntry) async { _ = await remove(CacheRemoval(entry)) }

    public func removeAll(url: String) async { _ = await remove(.url(url)) }

    public func removeAll(origin: String) async { _ = await remove(.origin(origin)) }

    public func removeAll() async { _ = await remove(.everything) }

    // MARK: Failed removals

    enum RemovalResult { case done, notThere, failed }

    /// Removes entries. A removal that fails is recorded, because lookups would find the entries again, and is tried
    /// later.
    func remove(_ removal: CacheRemoval) async -> RemovalResult {
        let result = await attempt(removal)
        if result == .failed, server != nil { failedRemovals.withLock { $0.add(removal) } }
        return result
    }

    /// Repeats the failed removals, unless the breaker keeps the server from being asked.
    func retryRemovals() async {
        guard server?.mayAnswer == true else { return }
        let taken = failedRemovals.withLock { $0.beginRetry() }
        for (removal, number) in taken {
            guard await attempt(removal) != .failed else { break }
            failedRemovals.withLock { $0.finish(removal, number: number) }
        }
        if !taken.isEmpty { failedRemovals.withLock { $0.endRetry() } }
    }

    var pendingRemovals: PendingCacheRemovals { failedRemovals.withLock { $0 } }

    /// Whether an entry may be stored under a key. A failed removal that covers the key has to succeed first: its
    /// repetition would otherwise remove the new entry.
    func mayStore(_ key: CacheKey) async -> Bool {
        guard !pendingRemovals.isEmpty else { return true }
        await retryRemovals()
        return !pendingRemovals.cover(key)
    }

    // MARK: Commands

    private func attempt(_ removal: CacheRemoval) async -> RemovalResult {
        switch removal {
        case .entry(let id, let key, let variant): return await remove(id, key, variant)
        case .url(let url): return await remove(url: url) ? .done : .failed
        case .origin(let origin): return await remove(origin: origin) ? .done : .failed
        case .everything: return await removeEverything() ? .done : .failed
        }
    }

    private func remove(_ id: String, _ key: CacheKey, _ variant: String) async -> RemovalResult {
        guard let reply = await record(key, variant) else { return .failed }
        guard let bytes = reply.data, let record = RedisRecord(bytes), record.entry.id == id else { return .notThere }
        let removal = removal(of: bytes, RedisKeys.field(variant), keys.entries(key))
        guard let count = await replies([removal])?.first?.number else { return .failed }
        return count == 1 ? .done : .notThere
    }

    private func remove(url: String) async -> Bool {
        let command = RedisCommand(
            script: RedisScripts.removeURL,
            keys: [keys.url(url), keys.entries(CacheKey(url: url))],
            [Data(keys.chunks.utf8)]
        )
        return await replies([command])?.first?.number != nil
    }

    private func remove(origin: String) async -> Bool {
        let command = RedisCommand(
            script: RedisScripts.removeOrigin,
            keys: [keys.origin(origin)],
            [Data(keys.chunks.utf8), Data("50".utf8)]
        )
        // Each call removes the entries of some URLs only, because a script blocks the server. The loop is bounded for
        // a peer that is no Redis server and never returns zero.
        for _ in 0..<20_000 {
            guard let count = await replies([command])?.first?.number else { return false }
            if count <= 0 { return true }
        }
        return false
    }

    private func removeEverything() async -> Bool {
        await forEachBatch { [self] names in await replies([RedisCommand([Data("UNLINK".utf8)] + names)]) != nil }
    }
}
