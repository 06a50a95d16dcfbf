public import CurlewCore
internal import CurlewLocks
internal import Foundation

extension RedisCacheStore {
    public func remove(_ entry: CacheEntry) async { _ = await remove(CacheRemoval(entry)) }

    public func removeAll(url: String) async { _ = await remove(.url(url)) }

    public func removeAll(origin: String) async { _ = await remove(.origin(origin)) }

    public func removeAll() async { _ = await remove(.everything) }

    // MARK: Removals that fail

    enum RemovalResult { case done, notThere, failed }

    /// What the server did not do now is remembered: it would be found again.
    func remove(_ removal: CacheRemoval) async -> RemovalResult {
        let result = await attempt(removal)
        if result == .failed, server != nil { failedRemovals.withLock { $0.add(removal) } }
        return result
    }

    /// Without a question to a server that is left alone.
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

    /// What a failed removal names is stored once that is done, which would else remove it.
    func mayStore(_ key: CacheKey) async -> Bool {
        guard !pendingRemovals.isEmpty else { return true }
        await retryRemovals()
        return !pendingRemovals.cover(key)
    }

    // MARK: What the server is asked for

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
        // Some URLs at a time, because the server does nothing else meanwhile. What answers may be no Redis, and have no end.
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
