internal import CCurl
internal import CurlewCore
internal import Glibc

/// Identifies a connection by what libcurl says of it before it sends a request.
struct ConnectionName: Hashable {
    let localPort: Int32
    /// A hash of the peer's address.
    private let peer: UInt64

    init(localPort: Int32, peer: UnsafePointer<CChar>?) {
        self.localPort = localPort
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var next = peer
        while let byte = next, byte.pointee != 0 {
            hash = (hash ^ UInt64(UInt8(truncatingIfNeeded: byte.pointee))) &* 0x100_0000_01B3
            next = byte + 1
        }
        self.peer = hash
    }
}

/// Finds the socket of a connection by its local port and its peer's address.
struct NamedSockets {
    private var sockets: [ConnectionName: Int32] = [:]
    private var names: [Int32: ConnectionName] = [:]

    func socket(of name: ConnectionName) -> Int32? { sockets[name] }

    /// Records which of the sockets has become the connection.
    mutating func connected(_ candidates: [Int32], as name: ConnectionName) {
        guard let socket = candidates.last(where: { Self.localPort(of: $0) == name.localPort }) else { return }
        closed(socket)
        sockets[name] = socket
        names[socket] = name
    }

    mutating func closed(_ socket: Int32) {
        guard let name = names.removeValue(forKey: socket), sockets[name] == socket else { return }
        sockets[name] = nil
    }

    private static func localPort(of socket: Int32) -> Int32? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return nil }
            guard getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &length) == 0 else { return nil }
            // The port follows the family, for IPv4 and IPv6.
            switch Int32(bytes.load(as: sa_family_t.self)) {
            case AF_INET, AF_INET6: return Int32(UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self)))
            default: return nil
            }
        }
    }
}

// Bytes that a server sends on an idle connection belong to no request: an error before it closes (408), or the second
// of two responses to one request. libcurl would take them for the response to the next request (RFC 9112, 9.3 and
// 11.2). Versions before 8.0 do so with bytes in the socket, all versions with bytes that arrived in one TLS record
// with the end of a response.
extension Sockets {
    /// Called when the transfer is about to be sent. Records the connection that it has made, so that it is recognized
    /// when it is reused.
    func remember(_ transfer: ActiveTransfer, on name: ConnectionName) {
        loop.assertOnLoop()
        guard !transfer.connection.openedSockets.isEmpty else { return }
        if name.localPort > 0 { named.connected(transfer.connection.openedSockets, as: name) }
        transfer.connection.openedSockets = []
    }

    /// Whether bytes have arrived on the connection before the transfer is sent over it for the first time. On a new
    /// connection they do not count: the bytes that a server sends first are for the request to read.
    func hasUnaskedBytes(for transfer: ActiveTransfer, on name: ConnectionName) -> Bool {
        loop.assertOnLoop()
        guard let easy = transfer.easy, curlew_get_long(easy.handle, CURLINFO_NUM_CONNECTS) == 0 else { return false }
        let isReadable = settings.quirks.takesUnaskedBytes && isReadable(name)
        guard transfer.plan.isTLS else { return isReadable && !settings.hasPriorKnowledge }
        // With GnuTLS it is unknown here whether the connection speaks HTTP/2, over which a server may send at any
        // time.
        guard settings.usesOpenSSL, let connection = curlew_tls_connection(easy.handle) else { return false }
        return (isReadable || curlew_tls_has_pending(connection) != 0) && curlew_tls_speaks_http2(connection) == 0
    }

    private func isReadable(_ name: ConnectionName) -> Bool {
        guard let socket = named.socket(of: name) else { return false }
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }
}
