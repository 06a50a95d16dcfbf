internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Tells the order of uses: the time of day in milliseconds, which here never goes back and never stands still.
///
/// When the system's clock is set back, what is stored afterwards would else be the first to go.
struct UseClock: Sendable {
    private let last: Lock<Int64>
    private let now: @Sendable () -> Date

    /// `last` is the latest use that the index knows. One that is damaged does not count.
    init(last: Int64?, now: @escaping @Sendable () -> Date) {
        self.now = now
        self.last = Lock(last.flatMap { (0...1_000_000_000_000_000).contains($0) ? $0 : nil } ?? 0)
    }

    /// The time of day.
    var time: Int64 { CacheIndex.milliseconds(now()) }

    /// The time of a use that happens now.
    func next() -> Int64 {
        let time = time
        return last.withLock { last -> Int64 in
            last = max(time, last + 1)
            return last
        }
    }
}
