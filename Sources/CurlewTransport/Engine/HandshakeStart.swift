internal import CCurl
internal import CurlewCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// When a TLS handshake begins, for errors and cancellations during it. OpenSSL tells by a callback; GnuTLS does not, and
/// from 8.0 on libcurl says when TCP was connected only after the handshake.
extension Sockets {
    /// libcurl watches a socket for a transfer that connects: once TCP is connected, the handshake is all that is left.
    func watches(_ easy: TransferHandle, at fd: Int32) {
        guard let transfer = easy.transfer, !transfer.isSecuring, transfer.plan.isTLS,
            case .connect = transfer.clocks.stretch, Self.isConnectedByTCP(fd), !transfer.isProxied
        else { return }
        transfer.isSecuring = true
    }

    /// Not so a resolver's pipe, nor a socket of QUIC.
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
