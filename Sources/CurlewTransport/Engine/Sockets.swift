internal import CCurl
internal import CurlewCore
internal import Glibc

/// The sockets of one engine: what libcurl waits for on each of them, which are muted, and which still connect.
///
/// Belongs to the loop's turns, as `Transfers` and `Handles` do: every entry asserts that in debug builds.
final class Sockets {
    let settings: EngineSettings
    let loop: LoopIdentity
    /// Time of the present turn: one clock reading serves all its callbacks until a transfer starts.
    private(set) var now = LoopInstant.now()
    private var poller: Poller
    private var connecting = ConnectingTransfers()
    /// For a libcurl that takes unasked bytes.
    var named = NamedSockets()
    private var refusedAsked = LoopInstant.unset

    init(_ settings: EngineSettings, queue: any ReadinessQueue, loop: LoopIdentity) {
        self.settings = settings
        self.loop = loop
        poller = Poller(queue: queue)
    }

    // MARK: Turns

    /// The wait is over, and has found so many events.
    func beginTurn(eventCount: Int) {
        loop.assertOnLoop()
        poller.waited(eventCount: eventCount)
        now = .now()
        guard refusedDue <= now else { return }
        poller.askRefused()
        refusedAsked = now
    }

    /// When to look at what the system does not watch: its transfers are slower, and go on.
    var refusedDue: LoopInstant {
        poller.hasRefused ? refusedAsked.advanced(byNanoseconds: Self.refusedInterval) : .never
    }

    private static let refusedInterval: UInt64 = 10_000_000

    /// A turn that starts hundreds of transfers takes a while; the clocks of the last begin when it does.
    func readClock() {
        loop.assertOnLoop()
        now = .now()
    }

    var eventCount: Int { poller.eventCount }
    /// More descriptors than this are not watched.
    var mostWatched: Int { poller.mostWatched }

    /// The event at `index` of the last wait, or nil where nothing waits for it any more.
    func takeEvent(_ index: Int) -> Poller.Ready? {
        loop.assertOnLoop()
        return poller.take(index)
    }

    /// Gives the poller's descriptor back.
    func close() {
        loop.assertOnLoop()
        poller.close()
    }

    var openCount: Int { poller.ownedCount }
    var openedCount: Int { poller.openedCount }

    /// In the place of a multi handle's index: the socket is a byte connection's.
    static let byteConnection = -2

    /// What a byte connection waits for.
    func watch(_ fd: Int32, for wanted: Readiness) {
        loop.assertOnLoop()
        if wanted.isEmpty { poller.unwatch(fd) } else { poller.watch(fd, for: wanted, multi: Self.byteConnection) }
    }

    // MARK: Opening and closing

    func open(for transfer: ActiveTransfer, _ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        loop.assertOnLoop()
        // A proxy that may be used was named as trusted, whatever its own address. Which requests go past it was decided
        // by the plan, and libcurl was told so: it decides nothing itself.
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

    /// Ends the connection that libcurl has kept after an exchange and that is of no use. libcurl frees what it has of it when a
    /// request looks for a connection.
    func end(_ easy: TransferHandle) {
        loop.assertOnLoop()
        let fd = curlew_get_socket(easy.handle)
        if fd >= 0 { _ = shutdown(fd, Int32(SHUT_RDWR)) }
    }

    // MARK: Transfers that connect

    /// The transfer is about to be sent, or ends.
    func hasConnected(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        connecting.remove(transfer)
    }

    /// When those that connect for long are due to be run.
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

// What libcurl is not told of stays in the kernel, whose buffers stop the server: for a libcurl that would read on while
// its transfer is paused. Over HTTP/1 alone: an HTTP/2 connection serves others too, and there libcurl closes the
// stream's window.
extension Sockets {
    /// libcurl watches a connection for a transfer. On one that is used again it may have read, and paused, before.
    private func reads(_ easy: TransferHandle, from fd: Int32) {
        easy.socket = fd
        // The lowest bit is CURLPAUSE_RECV.
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

    /// Whether the body must wait until its answer is read again: a libcurl that reads whenever it sends would read on.
    func sendingWaitsForReader(_ transfer: ActiveTransfer) -> Bool {
        settings.libcurlReadsWhileSending && transfer.pauses.holdsReceiving && isOverHTTP1(transfer)
    }

    private func isOverHTTP1(_ transfer: ActiveTransfer) -> Bool {
        transfer.head?.version == .http1_1 || transfer.head?.version == .http1_0
    }
}
