/// A dictionary that tracks the order of use and the total cost of its values. Every operation takes constant time.
struct LRU<Key: Hashable, Value> {
    private struct Node {
        var key: Key
        var value: Value
        var cost: Int
        var older: Int?
        var newer: Int?
    }

    private var slots: [Node?] = []
    private var freeSlots: [Int] = []
    private var slotOfKey: [Key: Int] = [:]
    private var oldest: Int?
    private var newest: Int?
    private(set) var totalCost = 0

    var count: Int { slotOfKey.count }
    var keys: some Collection<Key> { slotOfKey.keys }

    /// Returns the value and makes it the most recently used one.
    mutating func value(for key: Key) -> Value? {
        guard let slot = slotOfKey[key] else { return nil }
        if newest != slot {
            unlink(slot)
            link(slot)
        }
        return slots[slot]?.value
    }

    mutating func insert(_ value: Value, for key: Key, cost: Int) {
        remove(key)
        let node = Node(key: key, value: value, cost: cost)
        let slot: Int
        if let free = freeSlots.popLast() {
            slots[free] = node
            slot = free
        } else {
            slots.append(node)
            slot = slots.count - 1
        }
        slotOfKey[key] = slot
        totalCost += cost
        link(slot)
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let slot = slotOfKey.removeValue(forKey: key), let node = slots[slot] else { return nil }
        unlink(slot)
        slots[slot] = nil
        freeSlots.append(slot)
        totalCost -= node.cost
        return node.value
    }

    mutating func removeOldest() {
        guard let oldest, let node = slots[oldest] else { return }
        remove(node.key)
    }

    mutating func removeAll() { self = LRU() }

    private mutating func link(_ slot: Int) {
        slots[slot]?.older = newest
        slots[slot]?.newer = nil
        if let newest { slots[newest]?.newer = slot } else { oldest = slot }
        newest = slot
    }

    private mutating func unlink(_ slot: Int) {
        guard let node = slots[slot] else { return }
        if let older = node.older { slots[older]?.newer = node.newer } else { oldest = node.newer }
        if let newer = node.newer { slots[newer]?.older = node.older } else { newest = node.older }
    }
}
