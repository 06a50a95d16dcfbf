internal import CCurl
internal import Glibc

/// Which descriptors the loop watches, and for what.
///
/// libcurl drops a socket at the end of every transfer and wants it back at the start of the next. For
/// sockets that this engine opened, a drop is only remembered: the registration stays until an event
/// comes that nobody wants, or the socket is closed. Two system calls per request fall away.
struct Poller {
    private struct Registration {
        /// What the kernel was told.
        var registered: UInt32 = 0
        /// What libcurl wants.
        var wanted: UInt32 = 0
        /// Counts closes: an event of an earlier socket with this number is recognized by it.
        var generation: UInt32 = 0
        /// Opened by this engine, so its close is seen too. Only then may a registration outlive its wish.
        var isOwned = false
        /// Which multi handle to tell.
        var multi: Int32 = -1
    }

    /// An event that somebody waits for.
    struct Ready {
        var fd: Int32
        var multi: Int
        var events: UInt32
    }

    private let poller: Int32
    private var registrations: [Registration] = []
    private let events: UnsafeMutablePointer<curlew_event>
    private var eventCount = 0

    static let capacity = 128
    private static let wakeUpTag = UInt64.max
    private static let wakeUpEvents = UInt32(CURLEW_POLL_IN) | 1 << 31  // CURLEW_POLL_EDGE

    /// The number of sockets that this engine opened and has not closed.
    private(set) var ownedCount = 0
    private(set) var openedCount = 0

    /// nil when the process has no descriptors left.
    init?(wakeUp: Int32) {
        poller = curlew_poll_create()
        events = .allocate(capacity: Self.capacity)
        guard poller >= 0, curlew_poll_add(poller, wakeUp, Self.wakeUpEvents, Self.wakeUpTag) == 0 else {
            if poller >= 0 { close(poller) }
            events.deallocate()
            return nil
        }
    }

    func destroy() {
        close(poller)
        events.deallocate()
    }

    // MARK: Wishes

    mutating func socketOpened(_ fd: Int32) {
        reserve(fd)
        // A number that comes again without a close in between was closed behind our back: still one socket.
        if !registrations[Int(fd)].isOwned { ownedCount += 1 }
        registrations[Int(fd)].isOwned = true
        registrations[Int(fd)].registered = 0
        registrations[Int(fd)].wanted = 0
        openedCount += 1
    }

    /// The kernel forgets a closed descriptor by itself.
    mutating func socketClosed(_ fd: Int32) {
        reserve(fd)
        let generation = registrations[Int(fd)].generation &+ 1
        if registrations[Int(fd)].isOwned { ownedCount -= 1 }
        registrations[Int(fd)] = Registration(generation: generation)
    }

    mutating func watch(_ fd: Int32, for wanted: UInt32, multi: Int) {
        reserve(fd)
        registrations[Int(fd)].wanted = wanted
        registrations[Int(fd)].multi = Int32(truncatingIfNeeded: multi)
        let registered = registrations[Int(fd)].registered
        if registered == wanted { return }
        let tag = UInt64(registrations[Int(fd)].generation) << 32 | UInt64(UInt32(bitPattern: fd))
        let code =
            registered == 0
            ? curlew_poll_add(poller, fd, wanted, tag) : curlew_poll_modify(poller, fd, wanted, tag)
        registrations[Int(fd)].registered = code == 0 ? wanted : 0
    }

    mutating func unwatch(_ fd: Int32) {
        guard Int(fd) < registrations.count else { return }
        registrations[Int(fd)].wanted = 0
        let keeps =
            registrations[Int(fd)].isOwned && registrations[Int(fd)].registered == UInt32(CURLEW_POLL_IN)
        if !keeps { drop(fd) }
    }

    private mutating func drop(_ fd: Int32) {
        guard registrations[Int(fd)].registered != 0 else { return }
        registrations[Int(fd)].registered = 0
        // A number that libcurl closed behind our back gives an error here, which changes nothing.
        _ = curlew_poll_remove(poller, fd)
        if !registrations[Int(fd)].isOwned { registrations[Int(fd)].generation &+= 1 }
    }

    private mutating func reserve(_ fd: Int32) {
        while registrations.count <= Int(fd) { registrations.append(Registration()) }
    }

    // MARK: Waiting

    /// Waits; returns how many events there are to `take`.
    mutating func wait(nanoseconds: Int64) -> Int {
        eventCount = Int(curlew_poll_wait(poller, events, Int32(Self.capacity), nanoseconds))
        return eventCount
    }

    /// The event at `index` of the last wait, or nil where nobody waits for it any more.
    mutating func take(_ index: Int) -> Ready? {
        let event = events[index]
        // Edge-triggered: there is nothing to reset.
        if event.tag == Self.wakeUpTag { return nil }
        let fd = Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag))
        let registration = registrations[Int(fd)]
        guard registration.generation == UInt32(truncatingIfNeeded: event.tag >> 32) else { return nil }
        if registration.wanted == 0 {
            drop(fd)
            return nil
        }
        return Ready(fd: fd, multi: Int(registration.multi), events: event.events)
    }
}
