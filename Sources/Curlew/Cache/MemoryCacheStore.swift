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

/// The entries of a `MemoryCacheStore`, by key and in the order of eviction.
///
/// There are two queues (a segmented LRU). A new entry joins the first queue. When an entry is used, it becomes the
/// newest of the second queue. The second queue may fill four fifths of the room; beyond that, its oldest entries
/// return to the first queue. The oldest entry of the first queue is evicted first.
///
/// A key has at most `Variants.maximumPerKey` entries. A new one replaces the least recently used one.
private struct CacheMemory {
    let limit: Int
    private(set) var size = 0
    private(set) var count = 0
    private var places: [CacheKey: [Node]] = [:]
    /// The partitions that have entries, by URL.
    private var partitions: [String: Set<String>] = [:]
    private var new = CacheQueue()
    private var proven = CacheQueue()
    /// The number of stores and uses so far, as a time for the entries of one key.
    private var uses: UInt64 = 0

    typealias Node = CacheQueue.Node

    init(limit: Int) { self.limit = limit }

    func nodes(for key: CacheKey) -> [Node] { places[key] ?? [] }

    private func node(_ key: CacheKey, _ id: String) -> Node? { nodes(for: key).first { $0.entry.id == id } }

    mutating func used(_ key: CacheKey, _ id: String) {
        guard let node = node(key, id) else { return }
        stamp(node)
        if node.isProven {
            proven.remove(node)
        } else {
            new.remove(node)
            node.isProven = true
        }
        proven.append(node)
        boundProven()
    }

    private mutating func boundProven() {
        while proven.cost > limit / 5 * 4, let last = proven.first {
            proven.remove(last)
            last.isProven = false
            new.append(last)
        }
    }

    private mutating func stamp(_ node: Node) {
        uses += 1
        node.lastUse = uses
    }

    /// Updates the fields of an entry. They may be larger, so other entries may be evicted. Release the returned nodes
    /// outside the lock.
    mutating func update(_ entry: CacheEntry) -> [Node] {
        guard let node = node(entry.key, entry.id) else { return [] }
        size -= node.cost
        if node.isProven { proven.replace(entry, of: node) } else { new.replace(entry, of: node) }
        size += node.cost
        // An entry above the limit would evict all others, and then itself.
        guard node.cost <= limit else { return [drop(node)] }
        boundProven()
        return makeRoom()
    }

    /// Stores an entry. Returns whether it was stored, and the nodes that it has replaced or evicted: release these
    /// outside the lock.
    mutating func insert(_ entry: CacheEntry, _ body: Data) -> (Bool, [Node]) {
        let node = Node(entry, body)
        guard node.cost <= limit else { return (false, []) }
        var gone: [Node] = []
        for other in nodes(for: entry.key) where other.entry.variant == entry.variant { gone.append(drop(other)) }
        if let last = surplus(of: entry.key) { gone.append(drop(last)) }
        stamp(node)
        places[entry.key, default: []].append(node)
        if nodes(for: entry.key).count == 1 { partitions[entry.key.url, default: []].insert(entry.key.partition) }
        // An entry that replaces a used one is as likely to be used.
        node.isProven = gone.contains { $0.isProven }
        if node.isProven { proven.append(node) } else { new.append(node) }
        size += node.cost
        count += 1
        return (true, gone + makeRoom())
    }

    private mutating func makeRoom() -> [Node] {
        var gone: [Node] = []
        while size > limit, let last = new.first ?? proven.first { gone.append(drop(last)) }
        return gone
    }

    /// The entry to evict before one more is stored for its key; `nil` if there is room.
    private func surplus(of key: CacheKey) -> Node? {
        let nodes = nodes(for: key)
        return nodes.count < Variants.maximumPerKey ? nil : nodes.min { $0.lastUse < $1.lastUse }
    }

    mutating func remove(_ entry: CacheEntry) -> [Node] { node(entry.key, entry.id).map { [drop($0)] } ?? [] }

    /// Removes all nodes and unlinks them. Releasing the first node of a linked list would release the others
    /// recursively.
    mutating func removeAll() -> [Node] { removeAll { _ in true } }

    mutating func removeAll(where matches: (String) -> Bool) -> [Node] {
        let nodes = places.filter { matches($0.key.url) }.values.flatMap { $0 }
        return nodes.map { drop($0) }
    }

    mutating func removeAll(url: String) -> [Node] {
        let keys = (partitions[url] ?? []).map { CacheKey(url: url, partition: $0) }
        return keys.flatMap { nodes(for: $0) }.map { drop($0) }
    }

    private mutating func drop(_ node: Node) -> Node {
        let key = node.entry.key
        places[key]?.removeAll { $0 === node }
        if places[key]?.isEmpty == true {
            places[key] = nil
            partitions[key.url]?.remove(key.partition)
            if partitions[key.url]?.isEmpty == true { partitions[key.url] = nil }
        }
        if node.isProven { proven.remove(node) } else { new.remove(node) }
        size -= node.cost
        count -= 1
        return node
    }
}

/// A linked list from which any node can be removed in constant time. `first` is the oldest node.
private struct CacheQueue {
    // SAFETY: accessed only under the store's lock; entry and body are copied out under it.
    final class Node: @unchecked Sendable {
        fileprivate(set) var entry: CacheEntry
        let body: Data
        fileprivate(set) var cost: Int
        var isProven = false
        var lastUse: UInt64 = 0
        fileprivate var next: Node?
        fileprivate weak var previous: Node?

        init(_ entry: CacheEntry, _ body: Data) {
            self.entry = entry
            self.body = body
            cost = body.count + Self.cost(of: entry)
        }

        /// An estimate of the memory that an entry needs besides its body.
        fileprivate static func cost(of entry: CacheEntry) -> Int {
            let fields = entry.response.head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
            return 512 + entry.key.url.utf8.count + fields
        }
    }

    private(set) var first: Node?
    private var last: Node?
    private(set) var cost = 0

    mutating func append(_ node: Node) {
        node.previous = last
        if let last { last.next = node } else { first = node }
        last = node
        cost += node.cost
    }

    mutating func remove(_ node: Node) {
        let (previous, next) = (node.previous, node.next)
        if let previous { previous.next = next } else { first = next }
        if let next { next.previous = previous } else { last = previous }
        node.next = nil
        node.previous = nil
        cost -= node.cost
    }

    /// Replaces the entry of a node, and updates its cost.
    mutating func replace(_ entry: CacheEntry, of node: Node) {
        cost -= node.cost
        node.entry = entry
        node.cost = node.body.count + Node.cost(of: entry)
        cost += node.cost
    }
}
