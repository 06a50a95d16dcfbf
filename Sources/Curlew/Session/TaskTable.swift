internal import CurlewCore

/// A hash table of the exchanges in flight, by identifier.
///
/// The identifiers are consecutive numbers that the session chooses, so one multiplication spreads them. The table uses
/// open addressing. Removing an entry moves later entries back, so that no marker of the removal remains.
struct TaskTable<Value: Sendable>: Sendable {
    /// The key is 0 in a free slot: identifiers begin at 1.
    private typealias Slot = (key: UInt64, value: Value?)

    private var slots: [Slot]
    /// The binary logarithm of the number of slots.
    private var bits: UInt64 = 4
    private(set) var count = 0

    init() { slots = Array(repeating: (0, nil), count: 16) }

    var values: [Value] { slots.compactMap(\.value) }

    subscript(task: TaskIdentifier) -> Value? { slots[position(of: task.rawValue)].value }

    mutating func insert(_ value: Value, for task: TaskIdentifier) {
        // At most half of the slots are used, so that entries are close to their home.
        if count * 2 >= slots.count { grow() }
        let position = position(of: task.rawValue)
        if slots[position].key == 0 { count += 1 }
        slots[position] = (task.rawValue, value)
    }

    mutating func remove(_ task: TaskIdentifier) {
        var hole = position(of: task.rawValue)
        guard slots[hole].key != 0 else { return }
        count -= 1
        var next = following(hole)
        while slots[next].key != 0 {
            // An entry whose home is after the hole stays: a search for it begins after the hole.
            let mask = slots.count - 1
            if (next &- home(of: slots[next].key)) & mask >= (next &- hole) & mask {
                slots.swapAt(hole, next)
                hole = next
            }
            next = following(next)
        }
        slots[hole] = (0, nil)
    }

    private mutating func grow() {
        let old = slots
        bits += 1
        slots = Array(repeating: (0, nil), count: old.count * 2)
        for slot in old where slot.key != 0 { slots[position(of: slot.key)] = slot }
    }

    /// Returns the slot of the key, or the free slot for it.
    private func position(of key: UInt64) -> Int {
        var position = home(of: key)
        while slots[position].key != key, slots[position].key != 0 { position = following(position) }
        return position
    }

    private func home(of key: UInt64) -> Int { Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> (64 - bits)) }

    private func following(_ position: Int) -> Int { (position + 1) & (slots.count - 1) }
}
