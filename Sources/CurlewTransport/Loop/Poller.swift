internal import Glibc

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
    /// How many events the last wait has given.
    private var foundCount = 0
    /// Those that the system does not watch, for the lack of memory or by its limit on watches.
    private var refused: Set<Int32> = []
    /// What `askRefused` has found in this turn.
    private var polled: [ReadyEvent] = []

    /// How many events there are to `take`.
    var eventCount: Int { foundCount + polled.count }
    /// More descriptors than this are not watched: the system gives the lowest numbers that are free.
    var mostWatched: Int { registrations.count }
    /// Whether `askRefused` must be called from time to time.
    var hasRefused: Bool { !refused.isEmpty }

    /// The number of sockets that this engine opened and has not closed.
    private(set) var ownedCount = 0
    private(set) var openedCount = 0

    init(queue: any ReadinessQueue) { self.queue = queue }

    /// Gives its descriptor back.
    mutating func close() {
        queue = nil
        refused.removeAll()
    }

    // MARK: Wishes

    mutating func socketOpened(_ fd: Int32) {
        reserve(fd)
        // A number that comes again without a close in between was closed behind our back: still one socket.
        if !registrations[Int(fd)].isOwned { ownedCount += 1 }
        registrations[Int(fd)].isOwned = true
        registrations[Int(fd)].registered = []
        registrations[Int(fd)].wanted = []
        registrations[Int(fd)].isMuted = false
        if hasRefused { refused.remove(fd) }
        openedCount += 1
    }

    /// Before the descriptor is closed.
    mutating func socketClosed(_ fd: Int32) {
        reserve(fd)
        // The kernel forgets a socket when its last descriptor is closed. A child that was forked may have one: it would be
        // ready for ever, and nothing could take it out any more.
        if let queue, !registrations[Int(fd)].registered.isEmpty { queue.remove(fd) }
        let generation = registrations[Int(fd)].generation &+ 1
        if registrations[Int(fd)].isOwned { ownedCount -= 1 }
        registrations[Int(fd)] = Registration(generation: generation)
        if hasRefused { refused.remove(fd) }
    }

    mutating func watch(_ fd: Int32, for wanted: Readiness, multi: Int) {
        reserve(fd)
        registrations[Int(fd)].wanted = wanted
        registrations[Int(fd)].multi = Int32(truncatingIfNeeded: multi)
        register(fd)
    }

    /// Tells the system what is wanted.
    private mutating func register(_ fd: Int32) {
        let (wanted, registered) = (audible(fd), registrations[Int(fd)].registered)
        if wanted.isEmpty { return drop(fd) }
        if registered == wanted { return }
        guard let queue else { return }
        if queue.set(fd, for: wanted, tag: tag(fd), isKnown: !registered.isEmpty) {
            registrations[Int(fd)].registered = wanted
            if hasRefused { refused.remove(fd) }
        } else {
            if !registered.isEmpty { queue.remove(fd) }
            registrations[Int(fd)].registered = []
            refused.insert(fd)
        }
    }

    /// What is wanted, but for reading from a muted socket.
    private func audible(_ fd: Int32) -> Readiness {
        let registration = registrations[Int(fd)]
        return registration.isMuted ? registration.wanted.subtracting(.read) : registration.wanted
    }

    /// By which an event is known to be this descriptor's, and not that of an earlier one of the same number.
    private func tag(_ fd: Int32) -> UInt64 {
        UInt64(registrations[Int(fd)].generation) << 32 | UInt64(UInt32(bitPattern: fd))
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
        let isRefused = hasRefused && refused.remove(fd) != nil
        guard isRefused || !registrations[Int(fd)].registered.isEmpty else { return }
        registrations[Int(fd)].registered = []
        if !isRefused { queue?.remove(fd) }
        if !registrations[Int(fd)].isOwned { registrations[Int(fd)].generation &+= 1 }
    }

    private mutating func reserve(_ fd: Int32) {
        while registrations.count <= Int(fd) { registrations.append(Registration()) }
    }

    // MARK: Waiting

    /// The queue's wait is over.
    mutating func waited(eventCount: Int) {
        foundCount = eventCount
        if !polled.isEmpty { polled.removeAll() }
    }

    /// After `waited`: asks the system once more to watch what it has refused, and looks at the rest by poll(2).
    mutating func askRefused() {
        for fd in refused { register(fd) }
        var asked = refused.map { pollfd(fd: $0, events: audible($0).pollFlags, revents: 0) }
        guard poll(&asked, nfds_t(asked.count), 0) > 0 else { return }
        for answer in asked where answer.revents != 0 {
            polled.append(ReadyEvent(tag: tag(answer.fd), readiness: Readiness(pollFlags: answer.revents)))
        }
    }

    /// The event at `index` of the last wait, or nil where nothing waits for it any more.
    mutating func take(_ index: Int) -> Ready? {
        guard let event = index < foundCount ? queue?.event(index) : polled[index - foundCount] else { return nil }
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
