internal import CCurl
internal import CurlewCore
internal import Glibc

// Bytes that a server sends on an idle connection belong to no request: an error before it closes (408), or the second
// of two responses to one request. libcurl would take them for the response to the next request (RFC 9112, 9.3 and
// 11.2). Versions before 8.0 do so with bytes in the socket, all versions with bytes that arrived in one TLS record
// with the end of a response.
extension Sockets {
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
        guard let socket = connections.socket(of: name) else { return false }
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }
}
