internal import CCurl
internal import Glibc

/// Finds the socket of a connection by its local port: before a request is sent, libcurl names it by nothing else.
///
/// Connections to several servers may share a port. Then the later one is found.
struct SocketsByPort {
    private var sockets: [Int32: Int32] = [:]
    private var ports: [Int32: Int32] = [:]

    func socket(at port: Int32) -> Int32? { sockets[port] }

    /// Remembers which of the sockets has become the connection at the port; false where none has.
    mutating func connected(_ candidates: [Int32], at port: Int32) -> Bool {
        guard let socket = candidates.first(where: { Self.port(of: $0) == port }) else { return false }
        sockets[port] = socket
        ports[socket] = port
        return true
    }

    mutating func closed(_ socket: Int32) {
        guard let port = ports.removeValue(forKey: socket), sockets[port] == socket else { return }
        sockets[port] = nil
    }

    private static func port(of socket: Int32) -> Int32? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return nil }
            guard getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &length) == 0 else { return nil }
            // The port stands behind the family, for IPv4 and IPv6.
            switch Int32(bytes.load(as: sa_family_t.self)) {
            case AF_INET, AF_INET6: return Int32(UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self)))
            default: return nil
            }
        }
    }
}

// What a server sends on a connection that no transfer uses, nothing has asked for: an error before it closes (408), or the
// second of two responses to one request. Before 8.0 libcurl uses the connection all the same, and would take these bytes for
// the response to the next request (RFC 9112, 9.3 and 11.2).
extension Sockets {
    /// Whether something has come on the connection before the transfer is sent over it.
    func hasUnaskedBytes(for transfer: ActiveTransfer, at port: Int32) -> Bool {
        guard settings.libcurlTakesUnaskedBytes, port > 0 else { return false }
        if !transfer.openedSockets.isEmpty {
            let isNew = byPort.connected(transfer.openedSockets, at: port)
            transfer.openedSockets = []
            if isNew { return false }
        }
        var byte: UInt8 = 0
        guard let socket = byPort.socket(at: port), recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 else {
            return false
        }
        return speaksHTTP1(transfer)
    }

    /// Over HTTP/2 a server may send at any time. GnuTLS does not tell here which of them it is.
    private func speaksHTTP1(_ transfer: ActiveTransfer) -> Bool {
        guard transfer.plan.isTLS else { return !settings.hasPriorKnowledge }
        guard settings.usesOpenSSL, let connection = transfer.easy.flatMap({ curlew_tls_connection($0.handle) }) else {
            return false
        }
        return curlew_tls_speaks_http2(connection) == 0
    }
}
