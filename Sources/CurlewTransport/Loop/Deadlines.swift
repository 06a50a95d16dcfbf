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

/// The planned length of the loop thread's next wait.
///
/// A transfer that is started in a borrowed turn adds deadlines. The first wait after some activity is short, so that
/// it mostly ends before these deadlines and the loop thread need not be woken for them.
struct PlannedWait {
    private(set) var end = LoopInstant.never
    /// When the last wait with an end began.
    private(set) var began = LoopInstant.unset
    /// Whether something has happened since the last wait was planned.
    var isBusy = false

    static let shortNanoseconds: UInt64 = 1_000_000_000

    /// Plans a wait until `deadline`. `isLent`: callers may borrow turns during the wait.
    mutating func plan(until deadline: LoopInstant, at now: LoopInstant, isLent: Bool) {
        end = isLent && isBusy ? min(deadline, now.advanced(byNanoseconds: Self.shortNanoseconds)) : deadline
        isBusy = false
    }

    /// Begins the wait and returns its length in nanoseconds; a negative length means no limit.
    mutating func begin() -> Int64 {
        // A wait without a deadline expires no timeout, so `began` may keep its earlier value and the clock need not be
        // read.
        if end == .never { return -1 }
        began = .now()
        return Int64(clamping: end.nanoseconds(since: began))
    }
}

/// Decides which deadlines may expire: those up to the time at which every socket that was ready has been reported.
///
/// A process may be stopped, or get no processor, between two turns or within a wait. A deadline that passed meanwhile
/// counts only after the sockets were checked once more, because the response may have arrived. One wait reports a
/// limited number of sockets and the next continues with the others, so a check of all sockets may take several waits.
struct DeadlineGuard {
    /// Every socket that was ready at this time has been reported.
    private(set) var seenUntil = LoopInstant.unset
    /// When a check began that takes more than one wait; unset if none is in progress.
    private var began = LoopInstant.unset
    /// The number of sockets that this check has found.
    private var found = 0

    /// Called after a wait that began at `start` and found `count` of at most `most` sockets, while at most `watched`
    /// were watched.
    mutating func waited(from start: LoopInstant, found count: Int, of most: Int, watched: Int) {
        if !began.isSet, count < most {
            seenUntil = start
            return
        }
        if !began.isSet { began = start }
        found += count
        // Even if more sockets stay ready than one wait reports, the check ends: by then each was reported once.
        guard count < most || found >= watched else { return }
        (seenUntil, began, found) = (began, .unset, 0)
    }
}
