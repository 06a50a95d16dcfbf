internal import CNetlink
internal import Glibc

/// A socket that reads the kernel's routing tables and receives their changes. Used by one thread.
protocol RoutingSocket: AnyObject {
    var descriptor: Int32 { get }
    /// Requests all links, or all addresses or routes of a family. Returns the sequence number of the request.
    func requestDump(of type: UInt16, family: UInt8) -> UInt32
    /// Requests the route to an address of 4 or 16 bytes. Returns the sequence number of the request.
    func requestRoute(to address: [UInt8]) -> UInt32
    /// Waits for a datagram and passes it to `body`.
    func receive<R>(_ body: (UnsafeRawBufferPointer) -> R) -> Received<R>
}

/// The result of reading a datagram.
enum Received<R> {
    case message(R)
    case nothing
    /// Changes arrived faster than they were read. Some of them, and possibly replies, are lost.
    case overrun
    case failed
}

/// A netlink socket of the running kernel.
final class NetlinkSocket: RoutingSocket {
    let descriptor: Int32
    private var sequence: UInt32 = 0

    init?() {
        let groups = RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR
        descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        address.nl_groups = UInt32(groups)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        // All properties are set, so `deinit` runs and closes the descriptor.
        guard bound == 0 else { return nil }
    }

    deinit { close(descriptor) }

    func requestDump(of type: UInt16, family: UInt8) -> UInt32 {
        var body = rtgenmsg()
        body.rtgen_family = family
        return send(type, flags: UInt16(NLM_F_REQUEST | NLM_F_DUMP), body: withUnsafeBytes(of: &body) { Array($0) })
    }

    func requestRoute(to address: [UInt8]) -> UInt32 {
        var route = rtmsg()
        route.rtm_family = UInt8(address.count == 4 ? AF_INET : AF_INET6)
        route.rtm_dst_len = UInt8(address.count * 8)
        var body = withUnsafeBytes(of: &route) { Array($0) }
        var attribute = rtattr()
        attribute.rta_type = UInt16(RTA_DST.rawValue)
        attribute.rta_len = UInt16(MemoryLayout<rtattr>.size + address.count)
        body += withUnsafeBytes(of: &attribute) { Array($0) }
        body += address
        return send(UInt16(RTM_GETROUTE), flags: UInt16(NLM_F_REQUEST), body: body)
    }

    func receive<R>(_ body: (UnsafeRawBufferPointer) -> R) -> Received<R> {
        // The kernel sends at most 32 KiB in one datagram of a dump.
        withUnsafeTemporaryAllocation(byteCount: 32 * 1024, alignment: 8) { buffer in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .message(body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))) }
            switch errno {
            case EINTR, EAGAIN: return .nothing
            case ENOBUFS: return .overrun
            default: return .failed
            }
        }
    }

    private func send(_ type: UInt16, flags: UInt16, body: [UInt8]) -> UInt32 {
        sequence &+= 1
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + body.count)
        header.nlmsg_type = type
        header.nlmsg_flags = flags
        header.nlmsg_seq = sequence
        let message = withUnsafeBytes(of: &header) { Array($0) } + body
        _ = message.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0) }
        return sequence
    }
}
