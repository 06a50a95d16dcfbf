internal import CurlewLocks

/// The uses that the index has not been told of: they are written together, for a use by itself is not worth a transaction.
/// What a killed process has not written is lost, which changes only the order in which entries go.
struct UseList: Sendable {
    /// More than are used again and again by most programs: those are written only when something is stored. Writing so many
    /// takes some ten milliseconds.
    private static let most = 1024

    private let uses = Lock<[Int64: Int64]>([:])
    private let clock: UseClock
    private let lane: IndexLane

    init(_ clock: UseClock, _ lane: IndexLane) {
        self.clock = clock
        self.lane = lane
    }

    /// The entry of this number is used now.
    func note(_ number: Int64) {
        let use = clock.next()
        let isEnough = uses.withLock { uses -> Bool in
            let isNew = uses.updateValue(use, forKey: number) == nil
            return isNew && uses.count == Self.most
        }
        guard isEnough else { return }
        lane.enqueue { index throws(DatabaseFault) in try write(to: index) }
    }

    /// Tells the index what has come together.
    func write(to index: CacheIndex) throws(DatabaseFault) {
        let taken = uses.withLock { uses -> [Int64: Int64] in
            let taken = uses
            uses = [:]
            return taken
        }
        try index.touch(taken)
    }
}
