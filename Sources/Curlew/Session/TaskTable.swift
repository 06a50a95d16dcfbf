internal import CurlewCore

/// What belongs to the exchanges in flight, by their identifiers.
///
/// A dictionary would hash each identifier against floods of chosen keys, which is half of what joining
/// and leaving a session costs. These are numbers of the session's own, in sequence: one multiplication spreads them.
/// Open addressing; what is removed leaves no trace, because those behind it move up.
struct TaskTable<Value: Sendable>: Sendable {
    /// 0 where it is free: identifiers begin at 1.
    private typealias Slot = (key: UInt64, value: Value?)

    private var slots: [Slot]
    /// Its logarithm is the number of bits that a home has.
    private var bits: UInt64 = 4
    private(set) var count = 0

    init() { slots = Array(repeating: (0, nil), count: 16) }

    var values: [Value] { slots.compactMap(\.value) }

    subscript(task: TaskIdentifier) -> Value? { slots[position(of: task.rawValue)].value }

    mutating func insert(_ value: Value, for task: TaskIdentifier) {
        // Half of it stays free, so that what is looked for lies close to its home.
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
            // Those whose home lies behind the hole stay: they would not be found before it.
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

    /// Where the key lies, or the free place where it would.
    private func position(of key: UInt64) -> Int {
        var position = home(of: key)
        while slots[position].key != key, slots[position].key != 0 { position = following(position) }
        return position
    }

    private func home(of key: UInt64) -> Int { Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> (64 - bits)) }

    private func following(_ position: Int) -> Int { (position + 1) & (slots.count - 1) }
}
