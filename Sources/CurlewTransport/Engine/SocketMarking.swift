internal import CurlewCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Sets the traffic class in the packets of a socket, which tells routers how to treat them.
enum SocketMarking {
    /// Best effort: if the system does not permit it, packets stay unmarked.
    static func mark(_ socket: Int32, family: Int32, as traffic: TrafficClass) {
        guard traffic != .normal else { return }
        // The code point occupies the upper six of the eight bits.
        var value = Int32(traffic.codePoint) << 2
        let size = socklen_t(MemoryLayout<Int32>.size)
        if family == AF_INET6 {
            setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_TCLASS, &value, size)
        }
        // Set on IPv6 sockets as well, for IPv4 addresses that are reached over them.
        setsockopt(socket, Int32(IPPROTO_IP), IP_TOS, &value, size)
    }
}
