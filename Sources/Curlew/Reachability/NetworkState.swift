/// The links, addresses and default routes that the kernel has reported. They determine the reachability.
struct NetworkState: Sendable, Equatable {
    struct Link: Sendable, Equatable {
        var index: Int32
        var name: String
        /// The device's ARPHRD_* constant.
        var hardwareType: UInt16
        /// Whether the link is administratively up.
        var isUp = true
        /// Whether the link is up and has a carrier.
        var isRunning: Bool
    }

    /// An IPv4 address of this machine.
    struct Address: Sendable, Hashable {
        var interface: Int32
        var bytes: [UInt8]
        var prefixLength: UInt8
    }

    /// A route that matches every destination.
    struct DefaultRoute: Sendable, Hashable {
        var isIPv6: Bool
        /// Several if the route shares its traffic between links, none if it names no link.
        var interfaces: [Int32]
        var table: UInt32
        var priority: UInt32
        /// The source address of its connections, if the route defines one.
        var source: [UInt8]?
    }

    var links: [Int32: Link] = [:]
    var addresses: Set<Address> = []
    var defaultRoutes: Set<DefaultRoute> = []

    mutating func apply(_ change: NetworkChange) {
        switch change {
        case .link(let link):
            links[link.index] = link
            if !link.isUp { removeRoutes(over: link.index, unlessOver: linksThatAreUp) }
        case .linkRemoved(let index):
            links[index] = nil
            addresses = addresses.filter { $0.interface != index }
            removeRoutes(over: index, unlessOver: linksThatAreUp)
        case .address(let address): addresses.insert(address)
        case .addressRemoved(let address):
            addresses.remove(address)
            removeRoutes(over: address.interface, unlessOver: Set(addresses.map(\.interface))) { !$0.isIPv6 }
            if !addresses.contains(where: { $0.bytes == address.bytes }) {
                defaultRoutes = defaultRoutes.filter { $0.isIPv6 || $0.source != address.bytes }
            }
        case .defaultRoute(let route): defaultRoutes.insert(route)
        case .defaultRouteReplaced(let route):
            defaultRoutes = defaultRoutes.filter { !$0.hasPlace(of: route) }
            defaultRoutes.insert(route)
        case .defaultRouteRemoved(let route): defaultRoutes.remove(route)
        }
    }

    // The kernel removes routes without a message in two cases: their link is set down, or (IPv4) the last address of
    // their link is removed. A route over several links is removed with the last of them.
    private mutating func removeRoutes(
        over interface: Int32, unlessOver others: Set<Int32>, where mayGo: (DefaultRoute) -> Bool = { _ in true }
    ) {
        defaultRoutes = defaultRoutes.filter { route in
            !mayGo(route) || !route.interfaces.contains(interface) || !others.isDisjoint(with: route.interfaces)
        }
    }

    private var linksThatAreUp: Set<Int32> { Set(links.values.lazy.filter(\.isUp).map(\.index)) }

    /// The status of the usable default route with the lowest metric.
    var statusOfDefaultRoute: NetworkReachabilityStatus {
        guard let best = usableDefaultRoutes.min(by: { $0.priority < $1.priority }) else { return .notReachable }
        let kinds = best.interfaces.filter(isRunning).map(connectionType(over:))
        return .reachable(!kinds.isEmpty && kinds.allSatisfy { $0 == .cellular } ? .cellular : .ethernetOrWiFi)
    }

    /// The default routes over running links, and those that name no link.
    var usableDefaultRoutes: Set<DefaultRoute> {
        defaultRoutes.filter { $0.interfaces.isEmpty || $0.interfaces.contains(where: isRunning) }
    }

    private func isRunning(_ interface: Int32) -> Bool { links[interface]?.isRunning ?? false }

    /// The status of a destination whose route the kernel has looked up.
    func status(of answer: RouteAnswer) -> NetworkReachabilityStatus {
        switch answer {
        case .unreachable: .notReachable
        case .over(let interface):
            isRunning(interface) ? .reachable(connectionType(over: interface)) : .notReachable
        }
    }

    private func connectionType(over interface: Int32) -> NetworkReachabilityStatus.ConnectionType {
        guard let link = links[interface] else { return .ethernetOrWiFi }
        return CellularLink.isCellular(name: link.name, hardwareType: link.hardwareType) ? .cellular : .ethernetOrWiFi
    }
}

extension NetworkState.DefaultRoute {
    /// Whether adding one of the routes replaces the other: their family, table and metric are equal.
    fileprivate func hasPlace(of other: Self) -> Bool {
        isIPv6 == other.isIPv6 && table == other.table && priority == other.priority
    }
}

/// A message of the kernel, reduced to what affects reachability.
enum NetworkChange: Sendable, Equatable {
    case link(NetworkState.Link)
    case linkRemoved(index: Int32)
    case address(NetworkState.Address)
    case addressRemoved(NetworkState.Address)
    case defaultRoute(NetworkState.DefaultRoute)
    /// Replaces the route with the same family, table and metric.
    case defaultRouteReplaced(NetworkState.DefaultRoute)
    case defaultRouteRemoved(NetworkState.DefaultRoute)
}

/// The kernel's reply to a route look-up.
enum RouteAnswer: Sendable, Equatable {
    case over(interface: Int32)
    case unreachable
}

/// Recognises cellular modems. The kernel has no flag for them, but there are device types and udev's naming rules.
private enum CellularLink {
    /// ARPHRD_PPP and ARPHRD_RAWIP (created by qmi_wwan).
    private static let hardwareTypes: Set<UInt16> = [512, 519]
    private static let namePrefixes = ["wwan", "wwp", "ppp", "rmnet"]

    static func isCellular(name: String, hardwareType: UInt16) -> Bool {
        hardwareTypes.contains(hardwareType) || namePrefixes.contains { name.hasPrefix($0) }
    }
}
