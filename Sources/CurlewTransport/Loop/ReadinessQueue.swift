/// What a descriptor can be watched for, and what is told of it.
struct Readiness: OptionSet, Sendable {
    var rawValue: UInt32

    static let read = Readiness(rawValue: 1 << 0)
    static let write = Readiness(rawValue: 1 << 1)
    /// Told without being asked for, as the next.
    static let error = Readiness(rawValue: 1 << 2)
    static let hangUp = Readiness(rawValue: 1 << 3)
    /// The descriptor is no longer open.
    static let closed = Readiness(rawValue: 1 << 4)
}

/// One descriptor that is ready, with the tag that it was registered under.
struct ReadyEvent {
    var tag: UInt64
    var readiness: Readiness
}

/// The system's way to wait for many descriptors at once: epoll, or poll(2) where there is nothing better.
///
/// Level-triggered: a descriptor is told again until it is no longer ready. `Poller` keeps what libcurl wants; an
/// implementation keeps what the system was told.
protocol ReadinessQueue: AnyObject {
    /// Whether a descriptor that was closed has left the queue by itself.
    var forgetsClosedDescriptors: Bool { get }

    /// Whether `set` and `remove` may be called while another thread is in `wait`, and count for that wait.
    var changesDuringWaits: Bool { get }

    /// How many events one wait tells at most. The next goes on with those that were not told.
    var mostEvents: Int { get }

    /// Watches a descriptor, or changes what a known one is watched for. False where the system refuses.
    func set(_ fd: Int32, for wanted: Readiness, tag: UInt64, isKnown: Bool) -> Bool
    /// A descriptor that is not registered, or no longer open, is no error.
    func remove(_ fd: Int32)
    /// Waits at most so long, for ever where it is negative; returns how many events can be asked for. A signal or a
    /// wake-up ends the wait with zero or more.
    func wait(nanoseconds: Int64) -> Int
    /// An event of the last wait; the index is below what that returned. nil for the wake-up.
    func event(_ index: Int) -> ReadyEvent?
}

extension Int64 {
    /// Nanoseconds as the milliseconds that epoll and poll take. Rounded up: waking too early would spin until the
    /// deadline.
    var pollMilliseconds: Int32 {
        if self < 0 { return -1 }
        let day: Int64 = 86_400_000
        return Int32(Swift.min((self / 1_000_000) + (self % 1_000_000 == 0 ? 0 : 1), day))
    }
}
