internal import CNetlink

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
        guard info.ifa_family == 2 else { return nil }
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
            isIPv6: info.rtm_family == 10,
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
