internal import Dispatch

/// A wait that usually ends before its time. `Task.sleep` keeps a task and a timer, about a kilobyte, until the time
/// has passed, even if it is cancelled: the time limits of ten thousand short connections would take ten megabytes for
/// a minute.
enum Pause {
    private static let queue = DispatchQueue(label: "curlew.pauses")

    /// Returns `true` when the time has passed, and `false` if the waiting task was cancelled before.
    static func wait(for duration: Duration) async -> Bool {
        guard duration > .zero else { return !Task.isCancelled }
        let end = OneShot<Void>()
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { end.resolve(()) }
        timer.schedule(deadline: .now() + .nanoseconds(Self.nanoseconds(duration)))
        timer.activate()
        defer { timer.cancel() }
        return await end.wait() != nil
    }

    /// Returns `true` when the instant has come, and `false` if the waiting task was cancelled before.
    static func wait(until instant: ContinuousClock.Instant) async -> Bool { await wait(for: instant - .now) }

    /// Returns the duration, limited to some centuries.
    private static func nanoseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        guard seconds < 9_000_000_000 else { return .max }
        return Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    }
}
