public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Keeps responses in memory, up to a size.
///
/// The least recently used entries are evicted first, and entries that were never read before those that were: a crawl
/// through many URLs does not evict the responses that are used repeatedly.
public final class MemoryCacheStore: CacheStore, ImmediateStore {
    /// The maximum size of all entries together, in bytes.
    package let maximumSize: Int
    /// The maximum size of one body, in bytes. A larger one is not stored.
    package let maximumEntrySize: Int

    private let memory: Lock<CacheMemory>

    /// Creates an empty store.
    public init(maximumSize: Int = 64 * 1024 * 1024, maximumEntrySize: Int = 8 * 1024 * 1024) {
        self.maximumSize = max(0, maximumSize)
        self.maximumEntrySize = min(max(0, maximumEntrySize), self.maximumSize)
        memory = Lock(CacheMemory(limit: max(0, maximumSize)))
    }

    deinit { _ = memory.withLock { $0.removeAll() } }

    public func entries(for key: CacheKey) async -> [StoredEntry] { entriesAtHand(for: key) }

    package func entriesAtHand(for key: CacheKey) -> [StoredEntry] {
        memory.withLock { memory in
            memory.nodes(for: key).map { node in
                StoredEntry(entry: node.entry, body: MemoryCacheBody(data: node.body, entry: node.entry, store: self))
            }
        }
    }

    public func writer(for entry: CacheEntry, expectedSize: Int64?) async -> (any CacheWriter)? {
        if let expectedSize, expectedSize > Int64(maximumEntrySize) { return nil }
        return MemoryCacheWriter(entry: entry, store: self)
    }

    public func update(_ entry: CacheEntry) async { _ = memory.withLock { $0.update(entry) } }

    public func remove(_ entry: CacheEntry) async { _ = memory.withLock { $0.remove(entry) } }

    public func removeAll(url: String) async { _ = memory.withLock { $0.removeAll(url: url) } }

    public func removeAll(origin: String) async { _ = memory.withLock { $0.removeAll { $0.hasPrefix(origin) } } }

    public func removeAll() async { _ = memory.withLock { $0.removeAll() } }

    public func size() async -> Int64 { Int64(memory.withLock { $0.size }) }

    /// The number of entries.
    package var count: Int { memory.withLock { $0.count } }

    func used(_ key: CacheKey, _ id: String) { memory.withLock { $0.used(key, id) } }

    func insert(_ entry: CacheEntry, _ body: Data) -> Bool {
        let (isKept, _) = memory.withLock { $0.insert(entry, body) }
        return isKept
    }
}

/// A body in the store. Reading it counts as a use of its entry.
private struct MemoryCacheBody: CacheBody {
    let data: Data
    let entry: CacheEntry
    let store: MemoryCacheStore

    var size: Int64 { Int64(data.count) }

    func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        store.used(entry.key, entry.id)
        return await DataCacheBody(data).reader(of: range)
    }
}

private final class MemoryCacheWriter: CacheWriter {
    private let entry: CacheEntry
    private let store: MemoryCacheStore
    private let body = Lock(Data())

    init(entry: CacheEntry, store: MemoryCacheStore) {
        self.entry = entry
        self.store = store
    }

    func write(_ chunk: Data) async -> Bool {
        body.withLock { body in
            guard chunk.count <= store.maximumEntrySize - body.count else { return false }
            // The first chunk is usually the whole body, and is stored without a copy.
            if body.isEmpty { body = chunk } else { body.append(chunk) }
            return true
        }
    }

    func commit() async -> Bool { store.insert(entry, body.withLock { $0 }) }

    func drop() async {}
}
