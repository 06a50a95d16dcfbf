internal import CurlewCore
internal import CurlewLocks
internal import Foundation

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

/// A clock that orders uses: the time of day in milliseconds, but strictly increasing.
///
/// After the system's clock is set back, new entries would otherwise be the first to be removed.
struct UseClock: Sendable {
    private let last: Lock<Int64>
    private let now: @Sendable () -> Date

    /// `last` is the latest use in the index. A damaged value is ignored.
    init(last: Int64?, now: @escaping @Sendable () -> Date) {
        self.now = now
        self.last = Lock(last.flatMap { (0...1_000_000_000_000_000).contains($0) ? $0 : nil } ?? 0)
    }

    /// The time of day, in milliseconds.
    var time: Int64 { CacheIndex.milliseconds(now()) }

    /// The time of a use that happens now. Later than every time before.
    func next() -> Int64 {
        let time = time
        return last.withLock { last -> Int64 in
            last = max(time, last + 1)
            return last
        }
    }
}
