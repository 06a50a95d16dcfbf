internal import CNetlink
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// Follows the kernel's routing messages on a separate thread and reports changes of the status. Does not poll.
final class NetworkMonitor: Sendable {
    /// The destination whose reachability is monitored.
    enum Target: Sendable, Equatable {
        case defaultRoute
        case host(String)
    }

    private struct State {
        var status = NetworkReachabilityStatus.unknown
        /// `nil` before the first report.
        var routes: Set<NetworkState.DefaultRoute>?
        /// Closing this end of the socket pair ends the thread, which waits at the other end.
        var stopper: Int32?
    }

    private let target: Target
    private let namespace: String?
    private let state = Lock(State())
    private let onChange: @Sendable (NetworkReachabilityStatus) -> Void
    private let onRoutesChange: (@Sendable () -> Void)?

    /// `namespace` is the path of the network namespace to observe, instead of that of the process. `onRoutesChange` is
    /// called when the default routes change, even if the status does not change.
    init(
        target: Target,
        namespace: String? = nil,
        onChange: @escaping @Sendable (NetworkReachabilityStatus) -> Void,
        onRoutesChange: (@Sendable () -> Void)? = nil
    ) {
        self.target = target
        self.namespace = namespace
        self.onChange = onChange
        self.onRoutesChange = onRoutesChange
    }

    deinit { stop() }

    var status: NetworkReachabilityStatus { state.withLock { $0.status } }

    /// Starts the thread. Returns `false` if the kernel provides no netlink socket (a strict sandbox).
    func start() -> Bool {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            return false
        }
        let (stopSignal, stopper) = (ends[0], ends[1])
        let alreadyRunning = state.withLock { state in
            guard state.stopper == nil else { return true }
            state.stopper = stopper
            return false
        }
        guard !alreadyRunning else {
            close(stopSignal)
            close(stopper)
            return true
        }
        let opened = Lock<Bool?>(nil)
        let ready = DispatchSemaphore(value: 0)
        let thread = Thread { [weak self, target, namespace] in
            defer { close(stopSignal) }
            let loop = NetlinkLoop(target: target, namespace: namespace)
            opened.withLock { $0 = loop != nil }
            ready.signal()
            loop?.run(until: stopSignal) { status, routes in self?.report(status, routes) }
        }
        thread.name = "curlew.network"
        thread.stackSize = 256 * 1024
        thread.start()
        ready.wait()
        guard opened.withLock({ $0 }) == true else {
            stop()
            return false
        }
        return true
    }

    func stop() {
        let stopper = state.withLock { state in
            defer { state.stopper = nil }
            return state.stopper
        }
        // The hang-up ends the poll of the thread.
        if let stopper { close(stopper) }
    }

    private func report(_ status: NetworkReachabilityStatus, _ routes: Set<NetworkState.DefaultRoute>) {
        let (hasChanged, hasOtherRoutes) = state.withLock { state -> (Bool, Bool) in
            guard state.stopper != nil else { return (false, false) }
            let changes = (state.status != status, state.routes.map { $0 != routes } ?? false)
            (state.status, state.routes) = (status, routes)
            return changes
        }
        if hasChanged { onChange(status) }
        if hasOtherRoutes { onRoutesChange?() }
    }
}

/// An object whose state is valid in one network only.
protocol NetworkDependent: AnyObject, Sendable {
    func networkChanged()
}

/// Notifies objects when the machine's default routes have changed. The first object starts a thread, which serves all
/// of them.
final class NetworkChanges: Sendable {
    static let shared = NetworkChanges()

    private struct Listener {
        weak var store: (any NetworkDependent)?
    }

    private struct State {
        var listeners: [Listener] = []
        var monitor: NetworkMonitor?
    }

    private let namespace: String?
    private let state = Lock(State())

    /// `namespace` is the path of the network namespace to observe, instead of that of the process.
    init(namespace: String? = nil) { self.namespace = namespace }

    /// Adds an object to notify, without retaining it. It is never notified if there is no netlink socket (a strict
    /// sandbox).
    func add(_ store: any NetworkDependent) {
        let monitor = state.withLock { state -> NetworkMonitor? in
            state.listeners.removeAll { $0.store == nil }
            state.listeners.append(Listener(store: store))
            guard state.monitor == nil else { return nil }
            let monitor = NetworkMonitor(target: .defaultRoute, namespace: namespace, onChange: { _ in }) {
                [weak self] in
                self?.changed()
            }
            state.monitor = monitor
            return monitor
        }
        _ = monitor?.start()
    }

    private func changed() {
        let stores = state.withLock { $0.listeners.compactMap(\.store) }
        for store in stores { store.networkChanged() }
    }
}

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

    /// Applies the next changes. Returns `false` if the thread has to end.
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

    /// Requests a dump and applies it. Returns `false` if something changed meanwhile, so that entries may be missing.
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
        // An unresolved name tells nothing about the route, so the default route decides.
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
private enum HostAddresses {
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
