internal import Glibc

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

/// The system's way to wait for many descriptors at once: `EpollQueue`, or what a test puts in its place.
///
/// Level-triggered: a descriptor is told again until it is no longer ready. `Poller` keeps what libcurl wants; an
/// implementation keeps what the system was told.
protocol ReadinessQueue: AnyObject {
    /// How many events one wait tells at most. The next goes on with those that were not told.
    var mostEvents: Int { get }

    /// Watches a descriptor, or changes what a known one is watched for. False where the system refuses.
    func set(_ fd: Int32, for wanted: Readiness, tag: UInt64, isKnown: Bool) -> Bool
    /// A descriptor that is not registered, or no longer open, is no error.
    func remove(_ fd: Int32)
    /// May be called while another thread changes what is watched, and minds the change. Waits at most so long, for ever if it
    /// is negative; returns how many events can be asked for. A signal or a
    /// wake-up ends the wait with zero or more.
    func wait(nanoseconds: Int64) -> Int
    /// An event of the last wait; the index is below what that returned. nil for the wake-up.
    func event(_ index: Int) -> ReadyEvent?
}

extension Int64 {
    /// Nanoseconds as the milliseconds that epoll takes. Rounded up: waking too early would spin until the
    /// deadline.
    var pollMilliseconds: Int32 {
        if self < 0 { return -1 }
        let day: Int64 = 86_400_000
        return Int32(Swift.min((self / 1_000_000) + (self % 1_000_000 == 0 ? 0 : 1), day))
    }
}

extension Readiness {
    /// What poll(2) is asked for.
    var pollFlags: Int16 {
        var flags: Int32 = 0
        if contains(.read) { flags |= POLLIN }
        if contains(.write) { flags |= POLLOUT }
        return Int16(truncatingIfNeeded: flags)
    }

    /// What poll(2) answers.
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
