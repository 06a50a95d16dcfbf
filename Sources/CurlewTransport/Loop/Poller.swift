internal import Glibc

/// The descriptors that the loop watches, each with the events that are wanted.
///
/// libcurl drops a socket at the end of every transfer and wants it again at the start of the next. For sockets that
/// this engine opened, a drop is only recorded: the registration remains until an unwanted event arrives, or the socket
/// is closed. This saves two system calls per request.
struct Poller {
    private struct Registration {
        /// The events that the system watches for.
        var registered: Readiness = []
        /// The events that libcurl, or a byte connection, wants.
        var wanted: Readiness = []
        /// Counts closes. It reveals that an event belongs to an earlier socket with this number.
        var generation: UInt32 = 0
        /// Whether the engine opened the descriptor, and so sees its close. Only then may a registration outlive its
        /// need.
        var isOwned = false
        /// Whether reading is withheld, whatever libcurl wants.
        var isMuted = false
        /// The owner that was passed to the last `watch`; -1 before the first.
        var owner: Int32 = -1
        /// The inode of a socket that may vanish; 0 for any other.
        var inode: ino_t = 0
    }

    /// An event that is wanted, for the owner of the descriptor.
    struct Ready {
        var fd: Int32
        var owner: Int
        var readiness: Readiness
    }

    /// `nil` after `close`.
    private(set) var queue: (any ReadinessQueue)?
    private var registrations: [Registration] = []
    /// The number of events that the last wait found.
    private var foundCount = 0
    /// Descriptors that the system refuses to watch, for lack of memory or because of its limit on watches.
    private var refused: Set<Int32> = []
    /// The events that `askRefused` has found in this turn.
    private var polled: [ReadyEvent] = []

    /// The number of events that `take` can return.
    var eventCount: Int { foundCount + polled.count }
    /// An upper bound of the number of watched descriptors, because the system assigns the lowest free numbers.
    var mostWatched: Int { registrations.count }
    /// Whether `askRefused` must be called from time to time.
    var hasRefused: Bool { !refused.isEmpty }

    /// The number of sockets that this engine opened and has not closed.
    private(set) var ownedCount = 0
    private(set) var openedCount = 0

    init(queue: any ReadinessQueue) { self.queue = queue }

    /// Releases the queue.
    mutating func close() {
        queue = nil
        refused.removeAll()
    }

    // MARK: Watching

    /// A socket that `mayVanish` may be closed without `socketClosed`, until `connected` is called.
    mutating func socketOpened(_ fd: Int32, mayVanish: Bool = false) {
        reserve(fd)
        // If we missed the close, the old socket is still counted; do not count twice.
        if !registrations[Int(fd)].isOwned { ownedCount += 1 }
        registrations[Int(fd)].isOwned = true
        registrations[Int(fd)].registered = []
        registrations[Int(fd)].wanted = []
        registrations[Int(fd)].isMuted = false
        registrations[Int(fd)].inode = mayVanish ? Self.inode(of: fd) : 0
        if hasRefused { refused.remove(fd) }
        openedCount += 1
    }

    /// Called when the socket is connected: its close is reported from then on.
    mutating func connected(_ fd: Int32) {
        guard Int(fd) < registrations.count else { return }
        registrations[Int(fd)].inode = 0
    }

    /// Calls `socketClosed` if the socket was closed unseen. Another thread may use its number by now.
    mutating func forgetIfVanished(_ fd: Int32) {
        guard Int(fd) < registrations.count, registrations[Int(fd)].inode != 0,
            Self.inode(of: fd) != registrations[Int(fd)].inode
        else { return }
        socketClosed(fd)
    }

    /// 0 if no file is open with this number.
    private static func inode(of fd: Int32) -> ino_t {
        var status = stat()
        return fstat(fd, &status) == 0 ? status.st_ino : 0
    }

    /// Must be called before the descriptor is closed.
    mutating func socketClosed(_ fd: Int32) {
        reserve(fd)
        // The kernel drops a registration when the socket's last descriptor is closed. A forked child may have one: the
        // socket would then be reported forever, and could not be removed by its number.
        if let queue, !registrations[Int(fd)].registered.isEmpty { queue.remove(fd) }
        let generation = registrations[Int(fd)].generation &+ 1
        if registrations[Int(fd)].isOwned { ownedCount -= 1 }
        registrations[Int(fd)] = Registration(generation: generation)
        if hasRefused { refused.remove(fd) }
    }

    /// Watches a descriptor. Its events are reported with `owner`, a number of the caller's.
    mutating func watch(_ fd: Int32, for wanted: Readiness, owner: Int) {
        reserve(fd)
        registrations[Int(fd)].wanted = wanted
        registrations[Int(fd)].owner = Int32(truncatingIfNeeded: owner)
        register(fd)
    }

    /// Registers the wanted events with the system.
    private mutating func register(_ fd: Int32) {
        let (wanted, registered) = (watchable(fd), registrations[Int(fd)].registered)
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

    /// The wanted events, without reading for a muted socket.
    private func watchable(_ fd: Int32) -> Readiness {
        let registration = registrations[Int(fd)]
        return registration.isMuted ? registration.wanted.subtracting(.read) : registration.wanted
    }

    /// The tag that tells an event of this descriptor from one of an earlier descriptor with the same number.
    private func tag(_ fd: Int32) -> UInt64 {
        UInt64(registrations[Int(fd)].generation) << 32 | UInt64(UInt32(bitPattern: fd))
    }

    /// Withholds from libcurl that a socket of this engine is readable, until it is unmuted.
    mutating func mute(_ fd: Int32, _ isMuted: Bool) {
        guard fd >= 0, Int(fd) < registrations.count, registrations[Int(fd)].isOwned else { return }
        registrations[Int(fd)].isMuted = isMuted
        // A registration without wanted events is left alone: `take` discards its events.
        if !registrations[Int(fd)].wanted.isEmpty { register(fd) }
    }

    mutating func unwatch(_ fd: Int32) {
        guard Int(fd) < registrations.count else { return }
        // Otherwise the next descriptor with this number would pass for registered.
        if registrations[Int(fd)].inode != 0 { forgetIfVanished(fd) }
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

    /// Called after the queue's wait, with the number of events that it found.
    mutating func waited(eventCount: Int) {
        foundCount = eventCount
        if !polled.isEmpty { polled.removeAll() }
    }

    /// Asks the system again to watch the descriptors that it has refused, and polls the rest with poll(2). Call it
    /// after `waited`.
    mutating func askRefused() {
        for fd in refused { register(fd) }
        var asked = refused.map { pollfd(fd: $0, events: watchable($0).pollFlags, revents: 0) }
        guard poll(&asked, nfds_t(asked.count), 0) > 0 else { return }
        for answer in asked where answer.revents != 0 {
            polled.append(ReadyEvent(tag: tag(answer.fd), readiness: Readiness(pollFlags: answer.revents)))
        }
    }

    /// The event at `index` of the last wait; `nil` if nothing waits for it.
    mutating func take(_ index: Int) -> Ready? {
        guard let event = index < foundCount ? queue?.event(index) : polled[index - foundCount] else { return nil }
        let fd = Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag))
        let registration = registrations[Int(fd)]
        guard registration.generation == UInt32(truncatingIfNeeded: event.tag >> 32) else { return nil }
        if registration.wanted.isEmpty || event.readiness.contains(.closed) { drop(fd) }
        if registration.wanted.isEmpty { return nil }
        var readiness = event.readiness
        if registration.isMuted {
            // The event was fetched before its socket was muted.
            readiness.remove(.read)
            if readiness.isEmpty { return nil }
        }
        return Ready(fd: fd, owner: Int(registration.owner), readiness: readiness)
    }
}
