internal import CCurl
internal import Glibc

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
