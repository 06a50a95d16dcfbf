internal import CCurl
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

/// Waits for descriptors with epoll.
final class EpollQueue: ReadinessQueue {
    private let epoll: Int32
    private let events: UnsafeMutablePointer<curlew_event>
    /// Retained, because its descriptor must not be closed while it is watched.
    private let wakeUp: EventDescriptor

    static let capacity = 128
    /// A tag that no descriptor has.
    private static let wakeUpTag = UInt64.max

    var mostEvents: Int { Self.capacity }

    /// Creates a queue and the descriptor that ends its waits. `nil` if the process has no descriptors left.
    static func make() -> (queue: EpollQueue, wakeUp: EventDescriptor)? {
        guard let wakeUp = EventDescriptor(), let queue = EpollQueue(wakeUp: wakeUp) else { return nil }
        return (queue, wakeUp)
    }

    /// `nil` if the process has no descriptors left.
    init?(wakeUp: EventDescriptor) {
        self.wakeUp = wakeUp
        epoll = curlew_poll_create()
        events = .allocate(capacity: Self.capacity)
        let edges = UInt32(CURLEW_POLL_IN) | 1 << 31  // CURLEW_POLL_EDGE
        guard epoll >= 0, curlew_poll_add(epoll, wakeUp.fd, edges, Self.wakeUpTag) == 0 else { return nil }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
        events.deallocate()
    }

    func set(_ fd: Int32, for wanted: Readiness, tag: UInt64, isKnown: Bool) -> Bool {
        var flags: UInt32 = 0
        if wanted.contains(.read) { flags |= UInt32(CURLEW_POLL_IN) }
        if wanted.contains(.write) { flags |= UInt32(CURLEW_POLL_OUT) }
        let code = isKnown ? curlew_poll_modify(epoll, fd, flags, tag) : curlew_poll_add(epoll, fd, flags, tag)
        return code == 0
    }

    func remove(_ fd: Int32) { _ = curlew_poll_remove(epoll, fd) }

    func wait(nanoseconds: Int64) -> Int {
        Int(curlew_poll_wait(epoll, events, Int32(Self.capacity), nanoseconds.pollMilliseconds))
    }

    func event(_ index: Int) -> ReadyEvent? {
        let event = events[index]
        if event.tag == Self.wakeUpTag { return nil }
        var readiness: Readiness = []
        if event.events & UInt32(CURLEW_POLL_IN) != 0 { readiness.insert(.read) }
        if event.events & UInt32(CURLEW_POLL_OUT) != 0 { readiness.insert(.write) }
        if event.events & UInt32(CURLEW_POLL_ERR) != 0 { readiness.insert(.error) }
        if event.events & UInt32(CURLEW_POLL_HUP) != 0 { readiness.insert(.hangUp) }
        return ReadyEvent(tag: event.tag, readiness: readiness)
    }
}

/// Ends the loop's wait, from any thread. This is an eventfd that is never read: epoll watches it for edges, and every
/// signal is an edge.
final class EventDescriptor: Sendable {
    let fd: Int32

    /// `nil` if the process has no descriptors left.
    init?() {
        fd = curlew_wakeup_create()
        if fd < 0 { return nil }
    }

    deinit { close(fd) }

    func signal() { curlew_wakeup_signal(fd) }
}
