internal import CurlewCore
internal import Dispatch

/// A wait for a time limit, which is usually cancelled early. A cancelled `Task.sleep` keeps its task and timer, about
/// a kilobyte, until the time has passed: the limits of ten thousand short connections would take ten megabytes for a
/// minute.
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

extension TimeoutBudget {
    /// The time that is left at this moment; `nil` if there is no limit, in which case the clock is not read.
    var remaining: Duration? { total == nil ? nil : remaining(at: .now) }

    /// Sets the time that is left as the total timeout of a request that is about to be sent.
    func apply(to request: inout TransferRequest) {
        if let remaining { request.options.timeouts.total = remaining }
    }

    /// Runs `work`. If the total timeout expires first, cancels `work` and throws `.totalTimedOut`.
    func limit<T: Sendable>(
        _ phase: CurlewError.Phase,
        _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        guard let remaining else { return try await work() }
        return try await withThrowingTaskGroup(of: T.self) { group in
            group.addTask { try await work() }
            group.addTask {
                guard await Pause.wait(for: remaining) else { throw CancellationError() }
                throw CurlewError.totalTimeout(total, phase: phase)
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    /// Runs a wait within the total timeout. Cancelling the waiting task ends the wait without an error.
    func limitWait(_ phase: CurlewError.Phase, _ wait: @escaping @Sendable () async -> Void) async throws(CurlewError) {
        do {
            try await limit(phase) { () async throws -> Void in await wait() }
        } catch {
            if let error = error as? CurlewError { throw error }
        }
    }
}
