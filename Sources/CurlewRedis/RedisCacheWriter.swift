internal import CurlewCore
internal import Foundation

/// Stores one response: chunk by chunk as it comes, and last the record that makes it an entry.
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

    // A writer that is released leaves its chunks to their end in the server.

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
        // They may belong to an entry by now. Those that do not end by themselves.
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
