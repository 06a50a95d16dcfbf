internal import CurlewCore
internal import Foundation

/// Stores one response: first the chunks of the body as they arrive, then the record that makes them an entry.
actor RedisCacheWriter: CacheWriter {
    private let store: RedisCacheStore
    private let entry: CacheEntry
    private let limit: Int64
    private var size: Int64 = 0
    private var buffer = Data()
    private var checks = Data()
    private var chunkCount = 0
    private var isOver = false

    init(_ store: RedisCacheStore, _ entry: CacheEntry, limit: Int64) {
        self.store = store
        self.entry = entry
        self.limit = limit
    }

    // A writer that is released without a commit removes nothing: its chunks expire in the server.

    func write(_ chunk: Data) async -> Bool {
        guard !isOver else { return false }
        size += Int64(chunk.count)
        guard size <= limit else {
            await drop()
            return false
        }
        buffer.append(chunk)
        while buffer.count >= RedisRecord.chunkSize {
            guard await send(Data(buffer.prefix(RedisRecord.chunkSize))) else { return false }
            buffer = Data(buffer.dropFirst(RedisRecord.chunkSize))
        }
        return true
    }

    func commit() async -> Bool {
        guard !isOver else { return false }
        let isInline = size <= Int64(RedisRecord.inlineLimit)
        if !isInline, !buffer.isEmpty {
            guard await send(buffer) else { return false }
        }
        isOver = true
        let isThere = await store.commit(RedisRecord(entry: entry, size: size, rest: isInline ? buffer : checks))
        buffer = Data()
        // If the server did not respond (`nil`), the chunks may belong to an entry and are kept. Unused chunks expire.
        if isThere == false { await store.removeChunks(of: entry, count: chunkCount) }
        return isThere ?? false
    }

    func drop() async {
        guard !isOver else { return }
        isOver = true
        buffer = Data()
        await store.removeChunks(of: entry, count: chunkCount)
    }

    private func send(_ chunk: Data) async -> Bool {
        checks.append(RedisRecord.bytes(RedisRecord.check(chunk, number: chunkCount), count: 8))
        chunkCount += 1
        if await store.put(chunk, number: chunkCount - 1, of: entry) { return true }
        await drop()
        return false
    }
}
