internal import CurlewLocks

/// The uses of entries that are not yet written to the index. They are written together, because one use is not worth a
/// transaction.
///
/// If the process is killed, unwritten uses are lost. That changes only the order in which entries are removed.
struct UseList: Sendable {
    /// The number of pending uses that starts a write, which takes about ten milliseconds. Most programs use fewer
    /// entries again and again; their uses are written when something is stored.
    private static let most = 1024

    private let uses = Lock<[Int64: Int64]>([:])
    private let clock: UseClock
    private let lane: IndexLane

    init(_ clock: UseClock, _ lane: IndexLane) {
        self.clock = clock
        self.lane = lane
    }

    /// Records that the entry with this number is used now.
    func note(_ number: Int64) {
        let use = clock.next()
        let isEnough = uses.withLock { uses -> Bool in
            let isNew = uses.updateValue(use, forKey: number) == nil
            return isNew && uses.count == Self.most
        }
        guard isEnough else { return }
        lane.enqueue { index throws(DatabaseFault) in try write(to: index) }
    }

    /// Writes the pending uses to the index.
    func write(to index: CacheIndex) throws(DatabaseFault) {
        let taken = uses.withLock { uses -> [Int64: Int64] in
            let taken = uses
            uses = [:]
            return taken
        }
        try index.touch(taken)
    }
}
