internal import CCurl
internal import CurlewCore
internal import Glibc

/// The sockets of one engine: the events that libcurl waits for, the established connections, and the transfers that
/// still connect. `SocketOpening` opens them, `TransferPauses` mutes them.
///
/// Used only in the loop's turns, as are `Transfers` and `Handles`; debug builds assert this at most entries.
final class Sockets {
    let settings: EngineSettings
    let loop: EngineLoop
    /// The time of the current turn: one clock reading serves all its callbacks until a transfer starts.
    var now = LoopInstant.now()
    var poller: Poller
    /// A transfer is removed when it is about to be sent, or leaves libcurl.
    var connecting = ConnectingTransfers()
    var connections = OpenConnections()
    private var refusedAsked = LoopInstant.unset

    init(_ settings: EngineSettings, queue: any ReadinessQueue, loop: EngineLoop) {
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

    /// Releases the queue and its descriptor.
    func close() {
        loop.assertOnLoop()
        poller.close()
    }

    /// Sets the events that a byte connection, or one that was made in advance, waits for.
    func setEvents(_ wanted: Readiness, of fd: Int32, owner: SocketOwner) {
        loop.assertOnLoop()
        if wanted.isEmpty { poller.unwatch(fd) } else { poller.watch(fd, for: wanted, owner: owner.number) }
    }

    // MARK: Closing

    func close(_ fd: Int32) -> Int32 {
        loop.assertOnLoop()
        poller.socketClosed(fd)
        connections.closed(fd)
        return Glibc.close(fd)
    }

    /// Forgets the sockets of the transfer that libcurl has closed without a call, because they were not connected yet.
    /// Needed with `LibcurlQuirks.closesUnseen`.
    func forgetVanished(of transfer: ActiveTransfer) {
        loop.assertOnLoop()
        for fd in transfer.connection.openedSockets { poller.forgetIfVanished(fd) }
    }

    /// Shuts down a connection that libcurl has kept after an exchange and that must not be reused. libcurl frees it
    /// when a request next looks for a connection.
    func shutDownConnection(of easy: TransferHandle) {
        loop.assertOnLoop()
        shutDown(curlew_get_socket(easy.handle))
    }

    /// Ends a connection that carries no request, and no longer counts it.
    func endConnection(at fd: Int32) {
        connections.closed(fd)
        shutDown(fd)
    }

    /// Shuts down the socket of a connection that carries no request. libcurl closes it later.
    func shutDown(_ fd: Int32) {
        loop.assertOnLoop()
        if fd >= 0 { _ = shutdown(fd, Int32(SHUT_RDWR)) }
    }

    // MARK: Established connections

    /// Called when the transfer is about to be sent. Records the connection that it has made; `name` is `nil` if
    /// libcurl does not report it.
    func recordConnection(of transfer: ActiveTransfer, named name: ConnectionName?) {
        loop.assertOnLoop()
        guard !transfer.connection.openedSockets.isEmpty else { return }
        if settings.quirks.closesUnseen { forgetVanished(of: transfer) }
        let opened = transfer.connection.openedSockets
        transfer.connection.openedSockets = []
        let name = name.flatMap { $0.localPort > 0 ? $0 : nil }
        // The others have lost the race of the host's addresses, or belong to a DNS server.
        let isConnection = { (fd: Int32) in name == nil || OpenConnections.localPort(of: fd) == name?.localPort }
        guard let easy = transfer.easy, let socket = opened.last(where: isConnection) else { return }
        if settings.quirks.closesUnseen { poller.connected(socket) }
        let version = OpenConnections.isDatagram(socket) ? .http3 : negotiatedVersion(easy, transfer.plan)
        if version == .http2 { settings.keepAlive?.limitUnacknowledged(on: socket) }
        connections.opened(
            OpenConnection(
                origin: transfer.plan.origin, name: name, multi: easy.multi, since: now, version: version),
            at: socket)
    }

    /// The protocol of the connection over which the transfer is about to be sent. `nil` if the TLS library does not
    /// say what the peers agreed on.
    func version(of transfer: ActiveTransfer) -> HTTPVersion? {
        loop.assertOnLoop()
        // A connection without a name is not found, for example one over a Unix socket.
        if let known = connections.find(transfer.connection.name) { return known.connection.version }
        return transfer.easy.flatMap { negotiatedVersion($0, transfer.plan) }
    }

    private func negotiatedVersion(_ easy: TransferHandle, _ plan: RequestPlan) -> HTTPVersion? {
        if plan.makesByteConnection { return .http1_1 }
        if settings.hasPriorKnowledge { return .http2 }
        guard plan.isTLS else { return .http1_1 }
        if let connection = curlew_tls_connection(easy.handle) {
            return curlew_tls_speaks_http2(connection) != 0 ? .http2 : .http1_1
        }
        return switch curlew_gnutls_speaks_http2(easy.handle) {
        case 0: .http1_1
        case 1: .http2
        default: nil
        }
    }

    // MARK: Unasked bytes

    /// Whether bytes have arrived on the connection before the transfer is sent over it for the first time. On a new
    /// connection they do not count: the bytes that a server sends first are for the request to read.
    ///
    /// They belong to no request: an error before the server closes (408), or the second of two responses to one
    /// request. libcurl would take them for the response to the next request (RFC 9112, 9.3 and 11.2). Versions before
    /// 8.0 do so with bytes in the socket, all versions with bytes that arrived in one TLS record with the end of a
    /// response; only OpenSSL reports these. Over HTTP/2 a server may send at any time.
    func hasUnaskedBytes(for transfer: ActiveTransfer) -> Bool {
        loop.assertOnLoop()
        guard let easy = transfer.easy, curlew_get_long(easy.handle, CURLINFO_NUM_CONNECTS) == 0 else { return false }
        var hasBytes = settings.quirks.takesUnaskedBytes && isReadable(transfer.connection.name)
        if !hasBytes, transfer.plan.isTLS, settings.usesOpenSSL, let connection = curlew_tls_connection(easy.handle) {
            hasBytes = curlew_tls_has_pending(connection) != 0
        }
        return hasBytes && version(of: transfer) == .http1_1
    }

    private func isReadable(_ name: ConnectionName?) -> Bool {
        guard let socket = connections.socket(of: name) else { return false }
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }
}

extension Sockets: CurlMultiDelegate {
    func watch(_ fd: Int32, for wanted: Int32, multi: Int, easy: UnsafeMutableRawPointer?) {
        loop.assertOnLoop()
        if settings.quirks.readsWhilePaused, wanted != CURL_POLL_REMOVE, let easy = easy.flatMap(TransferHandle.of) {
            recordSocket(fd, of: easy)
        }
        if settings.usesGnuTLS, wanted != CURL_POLL_REMOVE, let easy = easy.flatMap(TransferHandle.of) {
            detectHandshake(of: easy, at: fd)
        }
        let owner = SocketOwner.multi(multi).number
        switch wanted {
        case CURL_POLL_IN: poller.watch(fd, for: .read, owner: owner)
        case CURL_POLL_OUT: poller.watch(fd, for: .write, owner: owner)
        case CURL_POLL_INOUT: poller.watch(fd, for: [.read, .write], owner: owner)
        default: poller.unwatch(fd)
        }
    }
}

/// Who serves a socket.
enum SocketOwner {
    /// libcurl, through the multi handle with this index.
    case multi(Int)
    /// A byte connection, which reads and sends itself.
    case byteConnection
    /// A transfer that watches a connection made in advance for session tickets (`Prewarming`).
    case settlingTransfer

    /// The owner with a number that `number` has returned. -1 is `MultiIndex.none`.
    init(number: Int) {
        switch number {
        case -2: self = .byteConnection
        case -3: self = .settlingTransfer
        default: self = .multi(number)
        }
    }

    /// The number that the poller stores and reports. The poller knows no owners.
    var number: Int {
        switch self {
        case .multi(let index): index
        case .byteConnection: -2
        case .settlingTransfer: -3
        }
    }
}

// Detects when a TLS handshake begins, for errors and cancellations during it. OpenSSL reports the beginning by a
// callback. GnuTLS does not, and libcurl from 8.0 on reports the time of the TCP connection only after the handshake.
extension Sockets {
    /// Called when libcurl watches a socket for a transfer that connects: once TCP is connected, only the handshake is
    /// left.
    private func detectHandshake(of easy: TransferHandle, at fd: Int32) {
        guard let transfer = easy.transfer, !transfer.connection.isSecuring, transfer.plan.isTLS,
            case .connect = transfer.clocks.stretch, Self.isConnectedByTCP(fd), !transfer.usesProxy(settings)
        else { return }
        transfer.connection.isSecuring = true
    }

    /// Whether `fd` is a connected TCP socket. A resolver's pipe and a socket of QUIC are not.
    private static func isConnectedByTCP(_ fd: Int32) -> Bool {
        var kind: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &kind, &length) == 0, kind == Int32(IPPROTO_TCP) else {
            return false
        }
        var peer = sockaddr_storage()
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &peer) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(fd, $0, &length) == 0 }
        }
    }
}

/// The transfers that have opened a socket and not yet sent their request.
///
/// libcurl tries a host's addresses of one family one after the other, each for half of the time that is left. Driven
/// by events, libcurl before 8.8 opens the socket to the next address only when it is run once more, and sets no timer
/// for that: an address that refuses or does not respond would use up the whole time. Transfers that connect for long
/// are therefore run at intervals.
///
/// libcurl from 8.8 on sets that timer, and until 8.15 running all transfers could lose another one; there this list
/// stays empty.
struct ConnectingTransfers {
    /// The time between two runs, in nanoseconds. Most connections are up before it has passed once.
    static let interval: UInt64 = 100_000_000

    private var members: [ActiveTransfer] = []
    /// When the next run is due.
    private(set) var due = LoopInstant.never

    mutating func opened(for transfer: ActiveTransfer, at now: LoopInstant) {
        guard transfer.entries.connecting < 0 else { return }
        transfer.entries.connecting = members.count
        transfer.entries.connectingSince = now
        members.append(transfer)
        if due == .never { due = now.advanced(byNanoseconds: Self.interval) }
    }

    mutating func remove(_ transfer: ActiveTransfer) {
        guard transfer.entries.connecting >= 0 else { return }
        let last = members.removeLast()
        if last !== transfer {
            members[transfer.entries.connecting] = last
            last.entries.connecting = transfer.entries.connecting
        }
        transfer.entries.connecting = -1
        if members.isEmpty { due = .never }
    }

    /// The transfers to run; empty before `due`.
    mutating func late(at now: LoopInstant) -> [ActiveTransfer] {
        guard due <= now else { return [] }
        due = now.advanced(byNanoseconds: Self.interval)
        return members.filter { $0.entries.connectingSince.advanced(byNanoseconds: Self.interval) <= now }
    }
}
