/// What the kernel says about links and default routes: enough to decide whether there is a way out.
struct NetworkState: Sendable, Equatable {
    struct Link: Sendable, Equatable {
        var index: Int32
        var name: String
        /// ARPHRD_* of the device.
        var hardwareType: UInt16
        /// Switched on.
        var isUp = true
        /// Administratively up, with a carrier.
        var isRunning: Bool
    }

    /// An address of IPv4 that this machine has.
    struct Address: Sendable, Hashable {
        var interface: Int32
        var bytes: [UInt8]
        var prefixLength: UInt8
    }

    /// A route that matches everything.
    struct DefaultRoute: Sendable, Hashable {
        var isIPv6: Bool
        /// Several where it shares its traffic between links; none where it names no link.
        var interfaces: [Int32]
        var table: UInt32
        var priority: UInt32
        /// The address that its connections come from, where it says one.
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

    // The kernel removes routes without a message in two cases: their link goes down, or (IPv4) the last address of their link
    // is removed. A route over several links is removed with the last of them.
    private mutating func removeRoutes(
        over interface: Int32, unlessOver others: Set<Int32>, where mayGo: (DefaultRoute) -> Bool = { _ in true }
    ) {
        defaultRoutes = defaultRoutes.filter { route in
            !mayGo(route) || !route.interfaces.contains(interface) || !others.isDisjoint(with: route.interfaces)
        }
    }

    private var linksThatAreUp: Set<Int32> { Set(links.values.lazy.filter(\.isUp).map(\.index)) }

    /// Whether any default route leads over a link that works, and over what kind.
    var statusOfDefaultRoute: NetworkReachabilityStatus {
        guard let best = usableDefaultRoutes.min(by: { $0.priority < $1.priority }) else { return .notReachable }
        let kinds = best.interfaces.filter(isRunning).map(connectionType(over:))
        return .reachable(!kinds.isEmpty && kinds.allSatisfy { $0 == .cellular } ? .cellular : .ethernetOrWiFi)
    }

    /// Those over links that work.
    var usableDefaultRoutes: Set<DefaultRoute> {
        defaultRoutes.filter { $0.interfaces.isEmpty || $0.interfaces.contains(where: isRunning) }
    }

    private func isRunning(_ interface: Int32) -> Bool { links[interface]?.isRunning ?? false }

    /// The status of a target whose route the kernel has looked up.
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
    /// Whether the kernel replaces it with the other one: family, table and metric are the same.
    fileprivate func hasPlace(of other: Self) -> Bool {
        isIPv6 == other.isIPv6 && table == other.table && priority == other.priority
    }
}

/// One message of the kernel, reduced to what concerns reachability.
enum NetworkChange: Sendable, Equatable {
    case link(NetworkState.Link)
    case linkRemoved(index: Int32)
    case address(NetworkState.Address)
    case addressRemoved(NetworkState.Address)
    case defaultRoute(NetworkState.DefaultRoute)
    /// It replaces the one with the same family, table and metric.
    case defaultRouteReplaced(NetworkState.DefaultRoute)
    case defaultRouteRemoved(NetworkState.DefaultRoute)
}

/// The kernel's answer to 'which way to this address?'.
enum RouteAnswer: Sendable, Equatable {
    case over(interface: Int32)
    case unreachable
}

/// Tells modems from cards: the kernel has no such flag, but types and naming rules that udev keeps.
enum CellularLink {
    /// ARPHRD_PPP and ARPHRD_RAWIP (what qmi_wwan makes).
    private static let hardwareTypes: Set<UInt16> = [512, 519]
    private static let namePrefixes = ["wwan", "wwp", "ppp", "rmnet"]

    static func isCellular(name: String, hardwareType: UInt16) -> Bool {
        hardwareTypes.contains(hardwareType) || namePrefixes.contains { name.hasPrefix($0) }
    }
}
