internal import CCurl
internal import CurlewCore
internal import Glibc

/// The sockets of one engine: the events that libcurl waits for, the sockets that are muted, and the transfers that
/// still connect.
///
/// Used only in the loop's turns, as are `Transfers` and `Handles`; debug builds assert this at every entry.
final class Sockets {
    let settings: EngineSettings
    let loop: LoopIdentity
    /// The time of the current turn: one clock reading serves all its callbacks until a transfer starts.
    private(set) var now = LoopInstant.now()
    private var poller: Poller
    private var connecting = ConnectingTransfers()
    /// Used only with a libcurl that sends over a connection with unread bytes (`Capabilities.takesUnaskedBytes`).
    var named = NamedSockets()
    private var refusedAsked = LoopInstant.unset

    init(_ settings: EngineSettings, queue: any ReadinessQueue, loop: LoopIdentity) {
        self.settings = settings
        self.loop = loop
        poller = Poller(queue: queue)
    }

    // MARK: Turns

    /// Called when the wait has ended and found `eventCount` events.
    func beginTurn(eventCount: Int) {
        loop.assertOnLoop()
        poller.waited(eventCount: eventCount)
        now = .now()
        guard refusedDue <= now else { return }
        poller.askRefused()
        refusedAsked = now
    }

    /// When to poll the sockets that the system refuses to watch. Their transfers are slower but make progress.
    var refusedDue: LoopInstant {
        poller.hasRefused ? refusedAsked.advanced(byNanoseconds: Self.refusedInterval) : .never
    }

    private static let refusedInterval: UInt64 = 10_000_000

    /// Reads the clock again. A turn that starts hundreds of transfers takes a while, and each transfer's timeouts
    /// begin when it starts.
    func readClock() {
        loop.assertOnLoop()
        now = .now()
    }

    var eventCount: Int { poller.eventCount }
    /// An upper bound of the number of watched descriptors.
    var mostWatched: Int { poller.mostWatched }

    /// The event at `index` of the last wait; `nil` if nothing waits for it.
    func takeEvent(_ index: Int) -> Poller.Ready? {
        loop.assertOnLoop()
        return poller.take(index)
    }

    /// Releases the queue and its descriptor.
    func close() {
        loop.assertOnLoop()
        poller.close()
    }

    var openCount: Int { poller.ownedCount }
    var openedCount: Int { poller.openedCount }

    /// Registers the sockets of byte connections, in place of the index of a multi handle.
    static let byteConnection = -2

    /// Sets the events that a byte connection waits for.
    func watch(_ fd: Int32, for wanted: Readiness) {
        loop.assertOnLoop()
        if wanted.isEmpty { poller.unwatch(fd) } else { poller.watch(fd, for: wanted, multi: Self.byteConnection) }
    }

    // MARK: Opening and closing

    func open(for transfer: ActiveTransfer, _ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        loop.assertOnLoop()
        // A proxy that may be used was configured as trusted, whatever its address. The plan decides which requests
        // bypass it and tells libcurl, which decides nothing itself.
        if settings.refusesPrivateAddresses, !transfer.isProxied {
            let refused = withUnsafePointer(to: &address.pointee.addr) { AddressGuard.refusal(of: $0) }
            if let refused {
                transfer.refusedAddress = refused
                return -1  // CURL_SOCKET_BAD
            }
        }
        let fd = socket(
            address.pointee.family,
            address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
            address.pointee.protocol
        )
        guard fd >= 0 else {
            transfer.socketFailed(errno)
            return -1
        }
        transfer.socketOpened(fd, isRemembered: settings.libcurlTakesUnaskedBytes)
        let isTCP = address.pointee.socktype == Int32(SOCK_STREAM.rawValue) && address.pointee.family != AF_UNIX
        if isTCP { settings.keepAlive?.apply(to: fd) }
        SocketMarking.mark(fd, family: address.pointee.family, as: transfer.request.options.trafficClass)
        poller.socketOpened(fd)
        if settings.libcurlForgetsNextAddress { connecting.opened(for: transfer, at: now) }
        return fd
    }

    func close(_ fd: Int32) -> Int32 {
        loop.assertOnLoop()
        poller.socketClosed(fd)
        named.closed(fd)
        return Glibc.close(fd)
    }

    /// Shuts down a connection that libcurl has kept after an exchange and that must not be reused. libcurl frees it
    /// when a request next looks for a connection.
    func end(_ easy: TransferHandle) {
        loop.assertOnLoop()
        let fd = curlew_get_socket(easy.handle)
        if fd >= 0 { _ = shutdown(fd, Int32(SHUT_RDWR)) }
    }

    // MARK: Transfers that connect

    /// Called when the transfer is about to be sent, or leaves libcurl.
    func hasConnected(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        connecting.remove(transfer)
    }

    /// When transfers that have been connecting for long must be run.
    var connectingDue: LoopInstant { connecting.due }

    func lateConnecting() -> [ActiveTransfer] {
        loop.assertOnLoop()
        return connecting.late(at: now)
    }
}

extension Sockets: SocketWishes {
    func socketWish(_ fd: Int32, _ what: Int32, _ multi: Int, of easy: UnsafeMutableRawPointer?) {
        loop.assertOnLoop()
        if settings.libcurlReadsWhilePaused, what != CURL_POLL_REMOVE, let easy = easy.flatMap(TransferHandle.of) {
            reads(easy, from: fd)
        }
        if settings.usesGnuTLS, what != CURL_POLL_REMOVE, let easy = easy.flatMap(TransferHandle.of) {
            watches(easy, at: fd)
        }
        switch what {
        case CURL_POLL_IN: poller.watch(fd, for: .read, multi: multi)
        case CURL_POLL_OUT: poller.watch(fd, for: .write, multi: multi)
        case CURL_POLL_INOUT: poller.watch(fd, for: [.read, .write], multi: multi)
        default: poller.unwatch(fd)
        }
    }
}

// For a libcurl that reads on while its transfer is paused. libcurl is not told that the socket is readable, so the
// bytes stay in the kernel, whose full buffers stop the server. This applies to HTTP/1 alone: an HTTP/2 connection
// serves other transfers as well, and there libcurl closes the stream's window.
extension Sockets {
    /// Called when libcurl watches a connection for a transfer. On a reused connection the transfer may have read, and
    /// paused, before.
    private func reads(_ easy: TransferHandle, from fd: Int32) {
        easy.socket = fd
        // Bit 0 is CURLPAUSE_RECV.
        if let transfer = easy.transfer, transfer.pauses.applied & 1 != 0 { receivingPaused(transfer) }
    }

    func receivingPaused(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        guard settings.libcurlReadsWhilePaused, transfer.mutedSocket < 0, let easy = transfer.easy else { return }
        guard isOverHTTP1(transfer) else { return }
        transfer.mutedSocket = easy.socket
        poller.mute(transfer.mutedSocket, true)
    }

    func receivingResumes(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        guard transfer.mutedSocket >= 0 else { return }
        poller.mute(transfer.mutedSocket, false)
        transfer.mutedSocket = -1
    }

    /// Whether the body must wait until its response is read again: a libcurl that reads whenever it sends would read
    /// on.
    func sendingWaitsForReader(_ transfer: ActiveTransfer) -> Bool {
        settings.libcurlReadsWhileSending && transfer.pauses.holdsReceiving && isOverHTTP1(transfer)
    }

    private func isOverHTTP1(_ transfer: ActiveTransfer) -> Bool {
        transfer.head?.version == .http1_1 || transfer.head?.version == .http1_0
    }
}
