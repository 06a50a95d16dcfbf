internal import CurlewCore
internal import CurlewLocks
internal import Foundation

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
