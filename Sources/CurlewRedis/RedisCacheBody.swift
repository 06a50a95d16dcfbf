internal import CurlewCore
internal import Foundation

/// A body that is stored in the server in chunks.
struct RedisCacheBody: CacheBody {
    let store: RedisCacheStore
    let record: RedisRecord

    var size: Int64 { record.size }

    func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
        let reader = RedisCacheReader(store, record, range)
        return await reader.prepare() ? reader : nil
    }
}

/// Reads a body in groups of chunks and checks each chunk.
///
/// The first group is fetched before the first byte is handed out. It holds 4 MiB, the largest body that a store keeps
/// by default, so such a body cannot break off halfway: chunks can disappear at any time, when the entry is replaced or
/// the server evicts them.
actor RedisCacheReader: CacheReader {
    private let store: RedisCacheStore
    private let record: RedisRecord
    private var rest: Range<Int64>
    private var ready: [Data] = []

    init(_ store: RedisCacheStore, _ record: RedisRecord, _ range: Range<Int64>) {
        self.store = store
        self.record = record
        rest = range
    }

    /// Fetches the first chunks. Returns false if they are missing or damaged.
    func prepare() async -> Bool {
        guard !rest.isEmpty else { return true }
        return await fetch()
    }

    func next() async throws(CurlewError) -> Data? {
        if ready.isEmpty, !rest.isEmpty, await !fetch() {
            rest = rest.upperBound..<rest.upperBound
            throw CurlewError(.contentDecodingFailed, phase: .receive, reason: "The stored body is not whole any more.")
        }
        return ready.isEmpty ? nil : ready.removeFirst()
    }

    private func fetch() async -> Bool {
        let size = Int64(RedisRecord.chunkSize)
        let first = Int(rest.lowerBound / size)
        let end = min(Int((rest.upperBound + size - 1) / size), first + RedisRecord.chunksAtOnce)
        guard let chunks = await store.chunks(first..<end, of: record) else { return false }
        for (number, chunk) in zip(first..<end, chunks) {
            let start = Int64(number) * size
            let part = rest.clamped(to: start..<start + Int64(chunk.count))
            ready.append(
                chunk[chunk.startIndex + Int(part.lowerBound - start)..<chunk.startIndex + Int(part.upperBound - start)]
            )
        }
        rest = min(Int64(end) * size, rest.upperBound)..<rest.upperBound
        return true
    }
}

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
