internal import CurlewCore

/// The time by which all requests of a task have to end.
///
///     try await RequestDeadline.within(.seconds(2)) {
///         let user = try await session.request("users/1").decode(User.self)
///         return try await session.request("orders", parameters: ["user": user.id]).decode([Order].self)
///     }
///
/// It bounds the total timeout of every request that is started inside; the shorter of the two applies. Of nested
/// deadlines, the earliest applies. A request that takes too long fails with `.totalTimedOut`; nothing else in the task
/// is ended. Child tasks and `Task { }` inherit the deadline, `Task.detached` does not.
///
/// A request has the deadline of the task that starts it: the one that awaits its result first, adds its first response
/// handler, or resumes it. A refresh of credentials has none, because other requests wait for it too.
///
/// With ``Resilience/deadlineField`` the server learns how much time is left.
public enum RequestDeadline {
    // A class: the size of a `ContinuousClock.Instant` is not known at compile time, so a stored one is slow to read.
    private final class Limit: Sendable {
        let instant: ContinuousClock.Instant
        /// The time that was left when the deadline was set.
        let whole: Duration

        init(_ instant: ContinuousClock.Instant) {
            self.instant = instant
            whole = max(instant - .now, .zero)
        }
    }

    @TaskLocal private static var limit: Limit?

    /// The deadline of the current task; `nil` if it has none.
    public static var current: ContinuousClock.Instant? { limit?.instant }

    /// Runs `work` with a deadline `time` from now.
    public static func within<Value>(
        _ time: Duration, _ work: () async throws -> Value
    ) async rethrows -> Value {
        // Bounded, so that the sum does not overflow.
        try await until(.now + min(time, .seconds(100 * 365 * 86_400)), work)
    }

    /// Runs `work` with this deadline.
    public static func until<Value>(
        _ deadline: ContinuousClock.Instant, _ work: () async throws -> Value
    ) async rethrows -> Value {
        let earlier = limit.flatMap { $0.instant <= deadline ? $0 : nil }
        return try await $limit.withValue(earlier ?? Limit(deadline)) { try await work() }
    }

    /// Runs `work` without a deadline, because other tasks wait for it too.
    static func never<Value>(_ work: () async -> Value) async -> Value {
        await $limit.withValue(nil) { await work() }
    }

    /// Returns the total timeout of a request that starts now: `total`, or the time until the deadline if that is
    /// shorter.
    static func bound(_ total: Duration?) -> TimeoutBudget {
        let now = ContinuousClock.now
        let left = limit.map { max($0.instant - now, .zero) }
        if let limit, let left, total.map({ left < $0 }) ?? true {
            return TimeoutBudget(total: left, started: now, whole: total.map { min($0, limit.whole) } ?? limit.whole)
        }
        return total.map { TimeoutBudget(total: $0, started: now) } ?? .unlimited
    }

    /// The field in which gRPC sends the remaining time.
    static let grpcField = "grpc-timeout"

    /// Returns the remaining time in milliseconds, rounded down, but at least 1. `grpc-timeout` has the format of gRPC:
    /// at most eight digits and a unit.
    static func fieldValue(_ name: String, for remaining: Duration) -> String {
        let (seconds, attoseconds) = remaining.components
        let most = Int64.max / 2_000
        let milliseconds = max(min(seconds, most) * 1_000 + attoseconds / 1_000_000_000_000_000, 1)
        guard ASCII.equalsIgnoringCase(name, grpcField) else { return String(milliseconds) }
        return milliseconds < 100_000_000 ? "\(milliseconds)m" : "\(min(seconds, 99_999_999))S"
    }
}
