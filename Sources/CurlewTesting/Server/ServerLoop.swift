internal import CurlewLocks
internal import Glibc

/// The server's event loop: polls the listener, the mailbox and every connection, and runs connections that are ready
/// or whose wake time has passed. All its state belongs to the server's thread.
final class ServerLoop {
    private let core: ServerCore
    private let listener: Int32
    /// The TLS context; `nil` without TLS.
    private let tls: TLSContext?
    /// The mailbox, the listener, then one slot for each connection.
    private var slots: [pollfd]
    private var connections: [Connection] = []
    private var slotOfNumber: [Int: Int] = [:]
    private var wakeTimes: [Int: ContinuousClock.Instant] = [:]
    private var lastNumber = 0
    /// The time of the next attempt to accept; set while the process has no free descriptor.
    private var acceptsAgain: ContinuousClock.Instant?

    private static let fixedSlots = 2
    private static let peerLeft = Int16(0x2000)  // POLLRDHUP, which Glibc's module does not export
    private static let broken = Int16(POLLERR | POLLHUP | POLLNVAL)

    init(core: ServerCore, listener: Int32) {
        self.core = core
        self.listener = listener
        // `TestServer.init` has created an equal context already and throws if that fails.
        let protocols = core.configuration.protocols
        tls = core.identity.flatMap { identity in
            core.configuration.tls.flatMap { try? TLSContext(identity, $0, protocols) }
        }
        slots = [
            pollfd(fd: core.mailbox.readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
        ]
    }

    /// Serves until a `stop` message arrives, then closes everything.
    func run() {
        while turn() {}
        for connection in connections { drop(connection) }
        close(listener)
        core.mailbox.close()
        core.recorder.stopped()
        core.router.removeEverything()
    }

    private func turn() -> Bool {
        let ready = poll(&slots, nfds_t(slots.count), timeout(.now))
        let now = ContinuousClock.now
        guard ready >= 0 || errno == EINTR else { return false }
        if slots[0].revents != 0 {
            for message in core.mailbox.take() {
                switch message {
                case .stop: return false
                case .gateOpened(let number, let stream): gateOpened(number, stream, now)
                case .closeConnections: for connection in connections { finish(connection) }
                }
            }
        }
        serveReady(now)
        serveWoken(now)
        if slots[1].revents != 0 { acceptAll(now) }
        if let again = acceptsAgain, now >= again {
            acceptsAgain = nil
            slots[1].events = Int16(POLLIN)
        }
        return true
    }

    private func timeout(_ now: ContinuousClock.Instant) -> Int32 {
        var next = acceptsAgain
        for time in wakeTimes.values where next.map({ time < $0 }) ?? true { next = time }
        guard let next else { return -1 }
        guard next > now else { return 0 }
        let (seconds, attoseconds) = (next - now).components
        // Rounded up, because waking too early would make the loop spin.
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: milliseconds)
    }

    private func serveReady(_ now: ContinuousClock.Instant) {
        // Backwards, because removing a connection moves the last one into its place, and that one has had its turn.
        var index = connections.count - 1
        while index >= 0 {
            defer { index -= 1 }
            guard index < connections.count else { continue }
            let slot = slots[index + Self.fixedSlots]
            guard slot.revents != 0 else { continue }
            slots[index + Self.fixedSlots].revents = 0
            let connection = connections[index]
            let wants = slot.events & Int16(POLLIN | POLLOUT)
            if slot.revents & wants != 0 {
                run(connection, now)
            } else if slot.revents & (Self.peerLeft | Self.broken) != 0 {
                connection.peerLeft()
                finish(connection)
            }
        }
    }

    private func serveWoken(_ now: ContinuousClock.Instant) {
        guard !wakeTimes.isEmpty else { return }
        for (number, time) in wakeTimes where time <= now {
            guard let index = slotOfNumber[number] else { continue }
            run(connections[index], now)
        }
    }

    private func gateOpened(_ number: Int, _ stream: UInt32, _ now: ContinuousClock.Instant) {
        guard let index = slotOfNumber[number] else { return }
        connections[index].gateOpened(stream: stream)
        run(connections[index], now)
    }

    private func run(_ connection: Connection, _ now: ContinuousClock.Instant) {
        guard let index = slotOfNumber[connection.number] else { return }
        let slot = index + Self.fixedSlots
        wakeTimes[connection.number] = nil
        switch connection.run(now) {
        case nil: finish(connection)
        case .readable?: slots[slot].events = Int16(POLLIN)
        case .readableUntil(let time)?:
            slots[slot].events = Int16(POLLIN)
            wakeTimes[connection.number] = time
        case .writable?:
            // A WebSocket client may end its direction after a close frame that we have yet to read.
            slots[slot].events = Int16(POLLOUT) | (connection.conversation == nil ? Self.peerLeft : 0)
        case .event?: slots[slot].events = Self.peerLeft
        case .time(let time)?:
            slots[slot].events = Self.peerLeft
            wakeTimes[connection.number] = time
        case .any(let reads, let writes, let time)?:
            slots[slot].events =
                Int16(reads ? POLLIN : 0) | Int16(writes ? POLLOUT : 0) | (reads ? 0 : Self.peerLeft)
            wakeTimes[connection.number] = time
        }
    }

    private func acceptAll(_ now: ContinuousClock.Instant) {
        // The number is limited, so that existing connections are served in between.
        for _ in 0..<256 {
            do throws(SystemError) {
                guard let (descriptor, peerPort) = try Sockets.accept(listener) else { return }
                add(descriptor, peerPort, now)
            } catch {
                slots[1].events = 0
                acceptsAgain = now + .milliseconds(10)
                return
            }
        }
    }

    private func add(_ descriptor: Int32, _ peerPort: Int, _ now: ContinuousClock.Instant) {
        guard let wire = wire(descriptor) else {
            _ = close(descriptor)
            return
        }
        lastNumber += 1
        let number = lastNumber
        let mailbox = core.mailbox
        let connection = Connection(
            descriptor: descriptor,
            wire: wire,
            number: number,
            peerPort: peerPort,
            script: core.router.takeConnectionScript(),
            server: core,
            wakeLater: { mailbox.post(.gateOpened(connection: number, stream: $0)) }
        )
        slotOfNumber[number] = connections.count
        connections.append(connection)
        slots.append(pollfd(fd: descriptor, events: 0, revents: 0))
        core.recorder.connectionOpened()
        run(connection, now)
    }

    /// Returns `nil` if TLS is configured but cannot be set up. It never falls back to plain text.
    private func wire(_ descriptor: Int32) -> (any Wire)? {
        guard core.isSecure else { return PlainWire(descriptor) }
        return tls.flatMap { TLSWire(descriptor, $0) }
    }

    /// Removes the connection; the last one moves into its place.
    private func finish(_ connection: Connection) {
        guard let index = slotOfNumber.removeValue(forKey: connection.number) else { return }
        wakeTimes[connection.number] = nil
        let last = connections.count - 1
        if index != last {
            connections[index] = connections[last]
            slots[index + Self.fixedSlots] = slots[last + Self.fixedSlots]
            slotOfNumber[connections[index].number] = index
        }
        connections.removeLast()
        slots.removeLast()
        drop(connection)
    }

    private func drop(_ connection: Connection) {
        connection.close()
        core.recorder.connectionClosed()
    }
}
