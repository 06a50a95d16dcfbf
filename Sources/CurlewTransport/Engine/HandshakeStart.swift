internal import CCurl
internal import CurlewCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Detects when a TLS handshake begins, for errors and cancellations during it. OpenSSL reports the beginning by a
/// callback. GnuTLS does not, and libcurl from 8.0 on reports the time of the TCP connection only after the handshake.
extension Sockets {
    /// Called when libcurl watches a socket for a transfer that connects: once TCP is connected, only the handshake is
    /// left.
    func watches(_ easy: TransferHandle, at fd: Int32) {
        guard let transfer = easy.transfer, !transfer.isSecuring, transfer.plan.isTLS,
            case .connect = transfer.clocks.stretch, Self.isConnectedByTCP(fd), !transfer.isProxied
        else { return }
        transfer.isSecuring = true
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
