internal import Dispatch

/// A wait for a time limit, which is usually cancelled early. A cancelled `Task.sleep` keeps its task and timer, about
/// a kilobyte, until the time has passed: the limits of ten thousand short connections would take ten megabytes for a
/// minute.
enum CancellableSleep {
    private static let queue = DispatchQueue(label: "curlew.pauses")

    /// Returns `true` when the time has passed, and `false` if the waiting task was cancelled before.
    static func wait(for duration: Duration) async -> Bool {
        guard duration > .zero else { return !Task.isCancelled }
        let end = OneShot<Void>()
        let timer = startTimer(for: duration) { end.resolve(()) }
        defer { timer.cancel() }
        return await end.wait() != nil
    }

    /// Calls `action` when the time has passed. The caller cancels the timer.
    static func startTimer(
        for duration: Duration, _ action: @escaping @Sendable () -> Void
    ) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler(handler: action)
        timer.schedule(deadline: .now() + .nanoseconds(nanoseconds(max(.zero, duration))))
        timer.activate()
        return timer
    }

    /// Returns `true` when the instant has come, and `false` if the waiting task was cancelled before.
    static func wait(until instant: ContinuousClock.Instant) async -> Bool { await wait(for: instant - .now) }

    /// Returns the duration, limited to some centuries.
    static func nanoseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        guard seconds < 9_000_000_000 else { return .max }
        return Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    }
}
