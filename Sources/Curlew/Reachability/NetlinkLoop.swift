internal import CNetlink
internal import Glibc

/// The body of the monitor's thread: reads changes, keeps the state, asks the kernel for a host's route.
struct NetlinkLoop {
    private let target: NetworkMonitor.Target
    private let socket: NetlinkSocket
    private var state = NetworkState()

    init?(target: NetworkMonitor.Target, namespace: String?) {
        if let namespace, !Self.enter(namespace) { return nil }
        guard let socket = NetlinkSocket() else { return nil }
        self.target = target
        self.socket = socket
    }

    /// Returns when `stopSignal` is closed at its other end, or when the socket fails.
    func run(until stopSignal: Int32, report: (NetworkReachabilityStatus, Set<NetworkState.DefaultRoute>) -> Void) {
        var loop = self
        guard loop.synchronise() else { return }
        report(loop.currentStatus(), loop.state.usableDefaultRoutes)
        while true {
            var waiting = [
                pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopSignal, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&waiting, 2, -1) >= 0 || errno == EINTR else { return }
            if waiting[1].revents != 0 { return }
            guard waiting[0].revents != 0 else { continue }
            switch socket.receive({ NetlinkMessages.parse($0) }) {
            case .message(let content): content.changes.forEach { loop.state.apply($0) }
            case .nothing: continue
            case .overrun: guard loop.synchronise() else { return }
            case .failed: return
            }
            report(loop.currentStatus(), loop.state.usableDefaultRoutes)
        }
    }

    /// Starts over from a dump. The subscription is older than the dump, so no change falls between.
    private mutating func synchronise() -> Bool {
        state = NetworkState()
        let questions: [(type: Int, family: Int32)] = [
            (RTM_GETLINK, AF_UNSPEC), (RTM_GETROUTE, AF_INET), (RTM_GETROUTE, AF_INET6),
        ]
        // One after the other: the kernel refuses a second dump while the first is being read.
        for question in questions {
            let number = socket.requestDump(of: UInt16(question.type), family: UInt8(question.family))
            guard collect(until: { $0.finishedDumps.contains(number) }) else { return false }
        }
        return true
    }

    private mutating func currentStatus() -> NetworkReachabilityStatus {
        guard case .host(let name) = target else { return state.statusOfDefaultRoute }
        let addresses = HostAddresses.resolve(name)
        // A name that cannot be resolved now says nothing about the way: the default route does.
        guard !addresses.isEmpty else { return state.statusOfDefaultRoute }
        for address in addresses {
            let status = state.status(of: route(to: address))
            if status != .notReachable { return status }
        }
        return .notReachable
    }

    private mutating func route(to address: [UInt8]) -> RouteAnswer {
        let number = socket.requestRoute(to: address)
        var answer = RouteAnswer.unreachable
        _ = collect(lookups: [number]) { content in
            guard let route = content.routes[number] else { return false }
            answer = route
            return true
        }
        return answer
    }

    /// Reads datagrams and applies their changes until one satisfies `isLast`.
    private mutating func collect(
        lookups: Set<UInt32> = [],
        until isLast: (NetlinkMessages.Content) -> Bool
    ) -> Bool {
        while true {
            switch socket.receive({ NetlinkMessages.parse($0, lookups: lookups) }) {
            case .message(let content):
                content.changes.forEach { state.apply($0) }
                if isLast(content) { return true }
            case .nothing, .overrun: continue
            case .failed: return false
            }
        }
    }

    /// Moves this thread, and so the socket that it opens, into another network namespace (setns(2)).
    private static func enter(_ namespace: String) -> Bool {
        let descriptor = open(namespace, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return setns(descriptor, Int32(curlew_network_namespace)) == 0
    }
}

/// Name → addresses as raw bytes, by the C library's resolver; blocking.
enum HostAddresses {
    static func resolve(_ host: String) -> [[UInt8]] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [[UInt8]] = []
        var entry = list
        while let current = entry?.pointee {
            if let bytes = bytes(of: current) { addresses.append(bytes) }
            entry = current.ai_next
        }
        return addresses
    }

    private static func bytes(of info: addrinfo) -> [UInt8]? {
        guard let address = info.ai_addr else { return nil }
        let raw = UnsafeRawPointer(address)
        switch info.ai_family {
        case AF_INET:
            return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
        case AF_INET6:
            return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
        default:
            return nil
        }
    }
}
