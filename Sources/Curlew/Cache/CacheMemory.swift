internal import CurlewCore
internal import Foundation

/// The entries of a `MemoryCacheStore`: found by their keys, and in the order in which they are to go.
///
/// There are two queues. What is new stands in the first, and moves to the second when it is used there; what is used in the
/// second moves to its front. The second has four fifths of the room, and what does not fit there goes back to the first.
/// Room is made at the end of the first (a segmented LRU).
///
/// A key has at most `Variants.maximumPerKey` entries: the one that was used least recently makes room for a new one.
struct CacheMemory {
    let limit: Int
    private(set) var size = 0
    private(set) var count = 0
    private var places: [CacheKey: [Node]] = [:]
    /// The partitions of a URL that have entries.
    private var partitions: [String: Set<String>] = [:]
    private var new = CacheQueue()
    private var proven = CacheQueue()
    /// How often entries were stored or used: a time for the entries of one key.
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

    /// What had to go, because the entry's new fields may be larger: to be released without the lock.
    mutating func update(_ entry: CacheEntry) -> [Node] {
        guard let node = node(entry.key, entry.id) else { return [] }
        size -= node.cost
        if node.isProven { proven.replace(entry, of: node) } else { new.replace(entry, of: node) }
        size += node.cost
        // Room for it alone would push out all others, and then itself.
        guard node.cost <= limit else { return [drop(node)] }
        boundProven()
        return makeRoom()
    }

    /// Whether it was kept, and what had to go: to be released without the lock.
    mutating func insert(_ entry: CacheEntry, _ body: Data) -> (Bool, [Node]) {
        let node = Node(entry, body)
        guard node.cost <= limit else { return (false, []) }
        var gone: [Node] = []
        for other in nodes(for: entry.key) where other.entry.variant == entry.variant { gone.append(drop(other)) }
        if let last = surplus(of: entry.key) { gone.append(drop(last)) }
        stamp(node)
        places[entry.key, default: []].append(node)
        if nodes(for: entry.key).count == 1 { partitions[entry.key.url, default: []].insert(entry.key.partition) }
        // What takes the place of an entry that was used is as likely to be used as that was.
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

    /// The entry that makes room for one more of its key; nil where there is room.
    private func surplus(of key: CacheKey) -> Node? {
        let nodes = nodes(for: key)
        return nodes.count < Variants.maximumPerKey ? nil : nodes.min { $0.lastUse < $1.lastUse }
    }

    mutating func remove(_ entry: CacheEntry) -> [Node] { node(entry.key, entry.id).map { [drop($0)] } ?? [] }

    /// The nodes, out of the lists: releasing the first of a list would release all behind it, each within the one before.
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

/// A list from which any node can be taken in one step. The oldest is its first.
struct CacheQueue {
    // SAFETY: touched under the store's lock alone; entry and body are copied out under it.
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

        /// Roughly what an entry costs beside its body.
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

    /// In the node's place, at the cost that it has now.
    mutating func replace(_ entry: CacheEntry, of node: Node) {
        cost -= node.cost
        node.entry = entry
        node.cost = node.body.count + Node.cost(of: entry)
        cost += node.cost
    }
}
