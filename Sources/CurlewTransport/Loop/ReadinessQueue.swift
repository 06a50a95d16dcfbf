internal import Glibc

/// The events that a descriptor can be watched for, and that are reported for it.
struct Readiness: OptionSet, Sendable {
    var rawValue: UInt32

    static let read = Readiness(rawValue: 1 << 0)
    static let write = Readiness(rawValue: 1 << 1)
    /// Reported without being asked for, as is `hangUp`.
    static let error = Readiness(rawValue: 1 << 2)
    static let hangUp = Readiness(rawValue: 1 << 3)
    /// The descriptor is not open.
    static let closed = Readiness(rawValue: 1 << 4)
}

/// A descriptor that is ready, with the tag under which it was registered.
struct ReadyEvent {
    var tag: UInt64
    var readiness: Readiness
}

/// The system's facility to wait for many descriptors at once: `EpollQueue`, or its replacement in a test.
///
/// Level-triggered: a descriptor is reported again until it is no longer ready. `Poller` records what libcurl wants; an
/// implementation knows what the system watches.
protocol ReadinessQueue: AnyObject {
    /// The maximum number of events that one wait reports. The next wait continues with those that were not reported.
    var mostEvents: Int { get }

    /// Watches a descriptor, or changes the events of a known one. Returns false if the system refuses.
    func set(_ fd: Int32, for wanted: Readiness, tag: UInt64, isKnown: Bool) -> Bool
    /// Stops watching a descriptor. It is no error if the descriptor is not registered or not open.
    func remove(_ fd: Int32)
    /// Waits at most `nanoseconds`, or without limit if that is negative, and returns the number of events. A signal or
    /// a wake-up ends the wait, possibly with zero events. Other threads may change the watched events during the wait,
    /// and it heeds their changes.
    func wait(nanoseconds: Int64) -> Int
    /// An event of the last wait; `index` must be below the number that `wait` returned. `nil` for the wake-up.
    func event(_ index: Int) -> ReadyEvent?
}

extension Int64 {
    /// Nanoseconds as milliseconds for epoll, rounded up: waking too early would spin until the deadline.
    var pollMilliseconds: Int32 {
        if self < 0 { return -1 }
        let day: Int64 = 86_400_000
        return Int32(Swift.min((self / 1_000_000) + (self % 1_000_000 == 0 ? 0 : 1), day))
    }
}

extension Readiness {
    /// The flags to pass to poll(2).
    var pollFlags: Int16 {
        var flags: Int32 = 0
        if contains(.read) { flags |= POLLIN }
        if contains(.write) { flags |= POLLOUT }
        return Int16(truncatingIfNeeded: flags)
    }

    /// The events in the flags that poll(2) returns.
    init(pollFlags: Int16) {
        let flags = Int32(pollFlags)
        self = []
        if flags & POLLIN != 0 { insert(.read) }
        if flags & POLLOUT != 0 { insert(.write) }
        if flags & POLLERR != 0 { insert(.error) }
        if flags & POLLHUP != 0 { insert(.hangUp) }
        if flags & POLLNVAL != 0 { insert(.closed) }
    }
}
