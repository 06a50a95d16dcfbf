internal import Dispatch

/// A wait for a time that is mostly cut short. `Task.sleep` keeps a task and a timer, a kilobyte, until its time has passed, also
/// where it is cancelled at once: the limits of ten thousand short connections would be ten megabytes for a minute.
enum Pause {
    private static let queue = DispatchQueue(label: "curlew.pauses")

    /// Returns when the time has passed; false where the waiting task was cancelled before.
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

    /// The same, until an instant.
    static func wait(until instant: ContinuousClock.Instant) async -> Bool { await wait(for: instant - .now) }

    /// At most some centuries.
    private static func nanoseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        guard seconds < 9_000_000_000 else { return .max }
        return Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    }
}
