internal import CurlewCore
internal import Foundation

/// The entries of a `MemoryCacheStore`, by key and in the order of eviction.
///
/// There are two queues (a segmented LRU). A new entry joins the first queue. When an entry is used, it becomes the
/// newest of the second queue. The second queue may fill four fifths of the room; beyond that, its oldest entries
/// return to the first queue. The oldest entry of the first queue is evicted first.
///
/// A key has at most `Variants.maximumPerKey` entries. A new one replaces the least recently used one.
struct CacheMemory {
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
struct CacheQueue {
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
