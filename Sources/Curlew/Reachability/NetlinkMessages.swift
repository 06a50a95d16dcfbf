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

/// Parses a datagram of rtnetlink messages (netlink(7), rtnetlink(7)).
struct NetlinkMessages {
    /// The contents of one datagram.
    struct Content: Equatable {
        var changes: [NetworkChange] = []
        /// Replies to route look-ups, by the sequence number of the request.
        var routes: [UInt32: RouteAnswer] = [:]
        /// The sequence numbers of finished dumps.
        var finishedDumps: Set<UInt32> = []
        /// The sequence numbers of dumps during which something changed, so that entries may be missing.
        var interruptedDumps: Set<UInt32> = []
    }

    /// Parses a datagram. `lookups` are the sequence numbers of route look-ups, whose replies are not new routes.
    static func parse(_ bytes: UnsafeRawBufferPointer, lookups: Set<UInt32> = []) -> Content {
        var content = Content()
        var rest = bytes[...]
        let headerSize = MemoryLayout<nlmsghdr>.size
        while rest.count >= headerSize {
            let message = UnsafeRawBufferPointer(rebasing: rest)
            let header = message.loadUnaligned(as: nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard length >= headerSize, length <= message.count else { break }
            read(header, UnsafeRawBufferPointer(rebasing: message[headerSize..<length]), lookups, into: &content)
            rest = rest.dropFirst(aligned(length))
        }
        return content
    }

    private static func read(
        _ header: nlmsghdr,
        _ body: UnsafeRawBufferPointer,
        _ lookups: Set<UInt32>,
        into content: inout Content
    ) {
        if header.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0 { content.interruptedDumps.insert(header.nlmsg_seq) }
        switch Int(header.nlmsg_type) {
        case Int(NLMSG_DONE):
            content.finishedDumps.insert(header.nlmsg_seq)
        case Int(NLMSG_ERROR):
            // An error is the reply to a refused look-up, and the end of a refused dump.
            if lookups.contains(header.nlmsg_seq) {
                content.routes[header.nlmsg_seq] = .unreachable
            } else {
                content.finishedDumps.insert(header.nlmsg_seq)
            }
        case Int(RTM_NEWLINK), Int(RTM_DELLINK):
            let isNew = header.nlmsg_type == UInt16(RTM_NEWLINK)
            if let change = link(body, isNew: isNew) { content.changes.append(change) }
        case Int(RTM_NEWADDR), Int(RTM_DELADDR):
            guard let address = address(body) else { return }
            let isNew = header.nlmsg_type == UInt16(RTM_NEWADDR)
            content.changes.append(isNew ? .address(address) : .addressRemoved(address))
        case Int(RTM_NEWROUTE) where lookups.contains(header.nlmsg_seq):
            content.routes[header.nlmsg_seq] = routeAnswer(body)
        case Int(RTM_NEWROUTE), Int(RTM_DELROUTE):
            guard let route = defaultRoute(body) else { return }
            // In the entries of a dump the bit has another meaning.
            let replaces = header.nlmsg_flags & UInt16(NLM_F_MULTI | NLM_F_REPLACE) == UInt16(NLM_F_REPLACE)
            if header.nlmsg_type == UInt16(RTM_DELROUTE) {
                content.changes.append(.defaultRouteRemoved(route))
            } else {
                content.changes.append(replaces ? .defaultRouteReplaced(route) : .defaultRoute(route))
            }
        default:
            return
        }
    }

    private static func link(_ body: UnsafeRawBufferPointer, isNew: Bool) -> NetworkChange? {
        let size = MemoryLayout<ifinfomsg>.size
        guard body.count >= size else { return nil }
        let info = body.loadUnaligned(as: ifinfomsg.self)
        // AF_BRIDGE: the link was added to or removed from a bridge, but is otherwise unchanged.
        guard info.ifi_family == 0 else { return nil }
        guard isNew else { return .linkRemoved(index: info.ifi_index) }
        var name = ""
        for attribute in Attributes(body, from: size) where attribute.type == UInt16(IFLA_IFNAME) {
            name = String(decoding: attribute.value.prefix { $0 != 0 }, as: UTF8.self)
        }
        // IFF_UP and IFF_RUNNING (netdevice(7)): administratively up, and with a carrier.
        let running: UInt32 = 0x1 | 0x40
        return .link(
            NetworkState.Link(
                index: info.ifi_index,
                name: name,
                hardwareType: info.ifi_type,
                isUp: info.ifi_flags & 0x1 != 0,
                isRunning: info.ifi_flags & running == running
            )
        )
    }

    private static func address(_ body: UnsafeRawBufferPointer) -> NetworkState.Address? {
        let size = MemoryLayout<ifaddrmsg>.size
        guard body.count >= size else { return nil }
        let info = body.loadUnaligned(as: ifaddrmsg.self)
        guard info.ifa_family == UInt8(AF_INET) else { return nil }
        // IFA_LOCAL is the machine's address. On a point-to-point link, IFA_ADDRESS is that of the peer.
        for attribute in Attributes(body, from: size) where attribute.type == UInt16(IFA_LOCAL) {
            return NetworkState.Address(
                interface: Int32(bitPattern: info.ifa_index),
                bytes: Array(attribute.value),
                prefixLength: info.ifa_prefixlen
            )
        }
        return nil
    }

    private static func defaultRoute(_ body: UnsafeRawBufferPointer) -> NetworkState.DefaultRoute? {
        let size = MemoryLayout<rtmsg>.size
        guard body.count >= size else { return nil }
        let info = body.loadUnaligned(as: rtmsg.self)
        let local = RT_TABLE_LOCAL.rawValue
        guard info.rtm_dst_len == 0, info.rtm_type == UInt8(RTN_UNICAST) else { return nil }
        var route = NetworkState.DefaultRoute(
            isIPv6: info.rtm_family == UInt8(AF_INET6),
            interfaces: [],
            table: UInt32(info.rtm_table),
            priority: 0
        )
        for attribute in Attributes(body, from: size) {
            switch UInt32(attribute.type) {
            case RTA_OIF.rawValue: route.interfaces = attribute.value.load32.map { [Int32(bitPattern: $0)] } ?? []
            case RTA_MULTIPATH.rawValue: route.interfaces = nextHops(attribute.value)
            case RTA_TABLE.rawValue: route.table = attribute.value.load32 ?? route.table
            case RTA_PREFSRC.rawValue: route.source = Array(attribute.value)
            case RTA_PRIORITY.rawValue: route.priority = attribute.value.load32 ?? 0
            default: continue
            }
        }
        return route.table == local ? nil : route
    }

    /// The links of a multipath route. Each has a separate header.
    private static func nextHops(_ list: UnsafeRawBufferPointer) -> [Int32] {
        var interfaces: [Int32] = []
        var rest = list[...]
        let headerSize = MemoryLayout<rtnexthop>.size
        while rest.count >= headerSize {
            let hop = UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: rtnexthop.self)
            let length = Int(hop.rtnh_len)
            guard length >= headerSize, length <= rest.count else { break }
            if !interfaces.contains(hop.rtnh_ifindex) { interfaces.append(hop.rtnh_ifindex) }
            rest = rest.dropFirst(aligned(length))
        }
        return interfaces
    }

    private static func routeAnswer(_ body: UnsafeRawBufferPointer) -> RouteAnswer {
        let size = MemoryLayout<rtmsg>.size
        guard body.count >= size else { return .unreachable }
        let type = body.loadUnaligned(as: rtmsg.self).rtm_type
        guard type == UInt8(RTN_UNICAST) || type == UInt8(RTN_LOCAL) else { return .unreachable }
        for attribute in Attributes(body, from: size) where UInt32(attribute.type) == RTA_OIF.rawValue {
            if let index = attribute.value.load32 { return .over(interface: Int32(bitPattern: index)) }
        }
        return .unreachable
    }

    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// The type-length-value attributes that follow the fixed part of a message.
private struct Attributes: Sequence, IteratorProtocol {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ body: UnsafeRawBufferPointer, from offset: Int) {
        rest = body.dropFirst(NetlinkMessages.aligned(offset))
    }

    mutating func next() -> (type: UInt16, value: UnsafeRawBufferPointer)? {
        let headerSize = MemoryLayout<rtattr>.size
        guard rest.count >= headerSize else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: rest)
        let header = bytes.loadUnaligned(as: rtattr.self)
        let length = Int(header.rta_len)
        guard length >= headerSize, length <= bytes.count else { return nil }
        rest = rest.dropFirst(NetlinkMessages.aligned(length))
        return (header.rta_type, UnsafeRawBufferPointer(rebasing: bytes[headerSize..<length]))
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var load32: UInt32? { count >= 4 ? loadUnaligned(as: UInt32.self) : nil }
}
