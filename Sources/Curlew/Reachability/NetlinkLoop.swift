internal import CNetlink
internal import Glibc

/// The work of the monitor's thread: reads the kernel's changes, maintains the state, and asks for the route to a host.
struct NetlinkLoop {
    private let target: NetworkMonitor.Target
    private let open: () -> (any RoutingSocket)?
    private var socket: any RoutingSocket
    private(set) var state = NetworkState()

    /// The reason that reading ended.
    private enum Trouble: Error {
        /// Messages were lost, possibly including the end of a dump.
        case overrun
        case failed
    }

    init?(target: NetworkMonitor.Target, namespace: String?) {
        if let namespace, !Self.enter(namespace) { return nil }
        self.init(target: target) { NetlinkSocket() }
    }

    init?(target: NetworkMonitor.Target, open: @escaping () -> (any RoutingSocket)?) {
        guard let socket = open() else { return nil }
        (self.target, self.open, self.socket) = (target, open, socket)
    }

    /// Reports the status after every change. Returns when the other end of `stopSignal` is closed, or when the socket
    /// fails.
    func run(until stopSignal: Int32, report: (NetworkReachabilityStatus, Set<NetworkState.DefaultRoute>) -> Void) {
        var loop = self
        var isCurrent = false
        while true {
            do throws(Trouble) {
                if !isCurrent { try loop.synchronise() }
                isCurrent = true
                report(try loop.currentStatus(), loop.state.usableDefaultRoutes)
                guard try loop.change(until: stopSignal) else { return }
            } catch {
                // Start over with a new socket. The old one would still deliver replies to earlier requests, and the
                // kernel refuses a second dump on it meanwhile.
                guard error == .overrun, !Self.isReadable(stopSignal), let socket = open() else { return }
                loop.socket = socket
                isCurrent = false
            }
        }
    }

    /// Applies the next changes. Returns false if the thread has to end.
    private mutating func change(until stopSignal: Int32) throws(Trouble) -> Bool {
        while true {
            var waiting = [
                pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopSignal, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&waiting, 2, -1) >= 0 || errno == EINTR else { return false }
            if waiting[1].revents != 0 { return false }
            if waiting[0].revents != 0, try receive() != nil { return true }
        }
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }

    /// Reads the whole state again. The socket is subscribed before the dump, so no change is missed in between.
    private mutating func synchronise() throws(Trouble) {
        state = NetworkState()
        let questions: [(type: Int, family: Int32)] = [
            (RTM_GETLINK, AF_UNSPEC), (RTM_GETADDR, AF_INET), (RTM_GETROUTE, AF_INET), (RTM_GETROUTE, AF_INET6),
        ]
        // One after another: the kernel refuses a second dump while the first is being read.
        for question in questions {
            // If the state changes all the time, no dump is complete. Entries that the last one lacks stay unknown.
            var dumps = 0
            repeat {
                dumps += 1
            } while try !dump(UInt16(question.type), UInt8(question.family)) && dumps < Self.mostDumps
        }
    }

    private static let mostDumps = 10

    /// Returns false if something changed during the dump, so that entries may be missing.
    private mutating func dump(_ type: UInt16, _ family: UInt8) throws(Trouble) -> Bool {
        let number = socket.requestDump(of: type, family: family)
        var isWhole = true
        while true {
            guard let content = try receive() else { continue }
            if content.interruptedDumps.contains(number) { isWhole = false }
            if content.finishedDumps.contains(number) { return isWhole }
        }
    }

    private mutating func currentStatus() throws(Trouble) -> NetworkReachabilityStatus {
        guard case .host(let name) = target else { return state.statusOfDefaultRoute }
        let addresses = HostAddresses.resolve(name)
        // A name that cannot be resolved at the moment tells nothing about the route. Use the default route instead.
        guard !addresses.isEmpty else { return state.statusOfDefaultRoute }
        for address in addresses {
            let status = state.status(of: try route(to: address))
            if status != .notReachable { return status }
        }
        return .notReachable
    }

    private mutating func route(to address: [UInt8]) throws(Trouble) -> RouteAnswer {
        let number = socket.requestRoute(to: address)
        while true {
            if let answer = try receive(lookups: [number])?.routes[number] { return answer }
        }
    }

    /// Reads a datagram and applies its changes. Returns `nil` if there was none.
    private mutating func receive(lookups: Set<UInt32> = []) throws(Trouble) -> NetlinkMessages.Content? {
        switch socket.receive({ NetlinkMessages.parse($0, lookups: lookups) }) {
        case .message(let content):
            content.changes.forEach { state.apply($0) }
            return content
        case .nothing: return nil
        case .overrun: throw .overrun
        case .failed: throw .failed
        }
    }

    /// Moves this thread, and therefore the socket that it opens, to another network namespace (setns(2)).
    private static func enter(_ namespace: String) -> Bool {
        let descriptor = Glibc.open(namespace, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return setns(descriptor, Int32(curlew_network_namespace)) == 0
    }
}

/// Resolves names to addresses as raw bytes, with the C library's resolver. Blocks.
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
