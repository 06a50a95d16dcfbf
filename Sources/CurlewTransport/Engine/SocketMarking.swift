internal import CurlewCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Says in each packet of a socket how routers should treat it.
enum SocketMarking {
    /// Best effort: a system that does not allow it sends unmarked packets.
    static func mark(_ socket: Int32, family: Int32, as traffic: TrafficClass) {
        guard traffic != .normal else { return }
        // The code point is the upper six of the eight bits.
        var value = Int32(traffic.codePoint) << 2
        let size = socklen_t(MemoryLayout<Int32>.size)
        if family == AF_INET6 {
            setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_TCLASS, &value, size)
        }
        // Also for IPv4 addresses that are reached over an IPv6 socket.
        setsockopt(socket, Int32(IPPROTO_IP), IP_TOS, &value, size)
    }
}
