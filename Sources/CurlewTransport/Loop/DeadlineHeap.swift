/// An object with one deadline. It stores its index in the heap, so that its removal needs no search.
protocol DeadlineHolder: AnyObject {
    /// -1 outside of a heap. Only the heap sets it.
    var deadlineIndex: Int { get set }
}

/// A binary heap of deadlines, earliest first. It does not retain its holders: each must be removed before it is freed.
struct DeadlineHeap<Holder: DeadlineHolder> {
    private struct Entry {
        var deadline: LoopInstant
        // SAFETY: a holder is removed before its last strong reference is released (Transfers.release).
        unowned(unsafe) var holder: Holder
    }

    private var entries: [Entry] = []

    var earliest: LoopInstant { entries.first?.deadline ?? .never }

    /// The holder with the earliest deadline, if that is at or before `now`. The holder remains in the heap.
    func due(at now: LoopInstant) -> Holder? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        return first.holder
    }

    func deadline(of holder: Holder) -> LoopInstant {
        holder.deadlineIndex >= 0 ? entries[holder.deadlineIndex].deadline : .never
    }

    /// Sets a holder's deadline; `.never` removes the holder.
    mutating func set(_ holder: Holder, to deadline: LoopInstant) {
        if deadline == .never { return remove(holder) }
        let index = holder.deadlineIndex
        guard index >= 0 else {
            entries.append(Entry(deadline: deadline, holder: holder))
            holder.deadlineIndex = entries.count - 1
            siftUp(entries.count - 1)
            return
        }
        let old = entries[index].deadline
        entries[index].deadline = deadline
        if deadline < old { siftUp(index) } else { siftDown(index) }
    }

    mutating func remove(_ holder: Holder) {
        let index = holder.deadlineIndex
        guard index >= 0 else { return }
        holder.deadlineIndex = -1
        let last = entries.removeLast()
        guard index < entries.count else { return }
        let old = entries[index].deadline
        entries[index] = last
        last.holder.deadlineIndex = index
        if last.deadline < old { siftUp(index) } else { siftDown(index) }
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        let moving = entries[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard moving.deadline < entries[parent].deadline else { break }
            entries[index] = entries[parent]
            entries[index].holder.deadlineIndex = index
            index = parent
        }
        entries[index] = moving
        moving.holder.deadlineIndex = index
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        let moving = entries[index]
        while true {
            var child = 2 * index + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1].deadline < entries[child].deadline { child += 1 }
            guard entries[child].deadline < moving.deadline else { break }
            entries[index] = entries[child]
            entries[index].holder.deadlineIndex = index
            index = child
        }
        entries[index] = moving
        moving.holder.deadlineIndex = index
    }
}
