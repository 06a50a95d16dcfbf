/// Which descriptors the loop watches, and for what.
///
/// libcurl drops a socket at the end of every transfer and wants it back at the start of the next. For
/// sockets that this engine opened, a drop is only remembered: the registration stays until an event
/// comes that is not wanted, or the socket is closed. Two system calls per request fall away.
struct Poller {
    private struct Registration {
        /// What the system was told.
        var registered: Readiness = []
        /// What libcurl wants.
        var wanted: Readiness = []
        /// Counts closes: an event of an earlier socket with this number is recognized by it.
        var generation: UInt32 = 0
        /// Opened by this engine, so its close is seen too. Only then may a registration outlive its wish.
        var isOwned = false
        /// Nothing is to be read from it, whatever libcurl wants.
        var isMuted = false
        /// Which multi handle to tell.
        var multi: Int32 = -1
    }

    /// An event that is wanted.
    struct Ready {
        var fd: Int32
        var multi: Int
        var readiness: Readiness
    }

    /// nil once there is nothing to wait for any more.
    private(set) var queue: (any ReadinessQueue)?
    private var registrations: [Registration] = []
    /// How many events the last wait has given, to `take`.
    private(set) var eventCount = 0

    /// The number of sockets that this engine opened and has not closed.
    private(set) var ownedCount = 0
    private(set) var openedCount = 0

    init(queue: any ReadinessQueue) { self.queue = queue }

    /// Gives its descriptor back.
    mutating func close() { queue = nil }

    // MARK: Wishes

    mutating func socketOpened(_ fd: Int32) {
        reserve(fd)
        // A number that comes again without a close in between was closed behind our back: still one socket.
        if !registrations[Int(fd)].isOwned { ownedCount += 1 }
        registrations[Int(fd)].isOwned = true
        registrations[Int(fd)].registered = []
        registrations[Int(fd)].wanted = []
        registrations[Int(fd)].isMuted = false
        openedCount += 1
    }

    /// Before the descriptor is closed.
    mutating func socketClosed(_ fd: Int32) {
        reserve(fd)
        if let queue, !queue.forgetsClosedDescriptors { queue.remove(fd) }
        let generation = registrations[Int(fd)].generation &+ 1
        if registrations[Int(fd)].isOwned { ownedCount -= 1 }
        registrations[Int(fd)] = Registration(generation: generation)
    }

    mutating func watch(_ fd: Int32, for wanted: Readiness, multi: Int) {
        reserve(fd)
        registrations[Int(fd)].wanted = wanted
        registrations[Int(fd)].multi = Int32(truncatingIfNeeded: multi)
        register(fd)
    }

    /// Tells the system what is wanted, but for reading from a muted socket.
    private mutating func register(_ fd: Int32) {
        var wanted = registrations[Int(fd)].wanted
        if registrations[Int(fd)].isMuted { wanted.remove(.read) }
        let registered = registrations[Int(fd)].registered
        if registered == wanted { return }
        if wanted.isEmpty { return drop(fd) }
        let tag = UInt64(registrations[Int(fd)].generation) << 32 | UInt64(UInt32(bitPattern: fd))
        registrations[Int(fd)].registered =
            queue?.set(fd, for: wanted, tag: tag, isKnown: !registered.isEmpty) == true ? wanted : []
    }

    /// Withholds from libcurl that a socket of this engine has something to read, until told otherwise.
    mutating func mute(_ fd: Int32, _ isMuted: Bool) {
        guard fd >= 0, Int(fd) < registrations.count, registrations[Int(fd)].isOwned else { return }
        registrations[Int(fd)].isMuted = isMuted
        // What nothing waits for stays as it is: `take` sees to it.
        if !registrations[Int(fd)].wanted.isEmpty { register(fd) }
    }

    mutating func unwatch(_ fd: Int32) {
        guard Int(fd) < registrations.count else { return }
        registrations[Int(fd)].wanted = []
        let keeps = registrations[Int(fd)].isOwned && registrations[Int(fd)].registered == .read
        if !keeps { drop(fd) }
    }

    private mutating func drop(_ fd: Int32) {
        guard !registrations[Int(fd)].registered.isEmpty else { return }
        registrations[Int(fd)].registered = []
        queue?.remove(fd)
        if !registrations[Int(fd)].isOwned { registrations[Int(fd)].generation &+= 1 }
    }

    private mutating func reserve(_ fd: Int32) {
        while registrations.count <= Int(fd) { registrations.append(Registration()) }
    }

    // MARK: Waiting

    /// The queue's wait is over.
    mutating func waited(eventCount: Int) { self.eventCount = eventCount }

    /// The event at `index` of the last wait, or nil where nothing waits for it any more.
    mutating func take(_ index: Int) -> Ready? {
        guard let event = queue?.event(index) else { return nil }
        let fd = Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag))
        let registration = registrations[Int(fd)]
        guard registration.generation == UInt32(truncatingIfNeeded: event.tag >> 32) else { return nil }
        if registration.wanted.isEmpty || event.readiness.contains(.closed) { drop(fd) }
        if registration.wanted.isEmpty { return nil }
        var readiness = event.readiness
        if registration.isMuted {
            // An event that was fetched before its socket was muted.
            readiness.remove(.read)
            if readiness.isEmpty { return nil }
        }
        return Ready(fd: fd, multi: Int(registration.multi), readiness: readiness)
    }
}
