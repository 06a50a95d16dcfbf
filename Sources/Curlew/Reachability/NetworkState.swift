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
        /// nil for a route over several links.
        var interface: Int32?
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
            if !link.isUp { removeRoutes { $0.interface == link.index } }
        case .linkRemoved(let index):
            links[index] = nil
            addresses = addresses.filter { $0.interface != index }
            removeRoutes { $0.interface == index }
        case .address(let address): addresses.insert(address)
        case .addressRemoved(let address):
            addresses.remove(address)
            let wasLast = !addresses.contains { $0.interface == address.interface }
            let isGone = !addresses.contains { $0.bytes == address.bytes }
            removeRoutes { route in
                guard !route.isIPv6 else { return false }
                return (wasLast && route.interface == address.interface) || (isGone && route.source == address.bytes)
            }
        case .defaultRoute(let route): defaultRoutes.insert(route)
        case .defaultRouteRemoved(let route): defaultRoutes.remove(route)
        }
    }

    // The kernel takes routes of IPv4 away with their link or address, and sends no message for them.
    private mutating func removeRoutes(where isGone: (DefaultRoute) -> Bool) {
        defaultRoutes = defaultRoutes.filter { !isGone($0) }
    }

    /// Whether any default route leads over a link that works, and over what kind.
    var statusOfDefaultRoute: NetworkReachabilityStatus {
        guard let best = usableDefaultRoutes.min(by: { $0.priority < $1.priority }) else { return .notReachable }
        return .reachable(connectionType(over: best.interface))
    }

    /// Those over links that work.
    var usableDefaultRoutes: Set<DefaultRoute> {
        defaultRoutes.filter { route in route.interface.map { links[$0]?.isRunning ?? false } ?? true }
    }

    /// The status of a target whose route the kernel has looked up.
    func status(of answer: RouteAnswer) -> NetworkReachabilityStatus {
        switch answer {
        case .unreachable: .notReachable
        case .over(let interface):
            links[interface]?.isRunning ?? false ? .reachable(connectionType(over: interface)) : .notReachable
        }
    }

    private func connectionType(over interface: Int32?) -> NetworkReachabilityStatus.ConnectionType {
        guard let link = interface.flatMap({ links[$0] }) else { return .ethernetOrWiFi }
        return CellularLink.isCellular(name: link.name, hardwareType: link.hardwareType) ? .cellular : .ethernetOrWiFi
    }
}

/// One message of the kernel, reduced to what concerns reachability.
enum NetworkChange: Sendable, Equatable {
    case link(NetworkState.Link)
    case linkRemoved(index: Int32)
    case address(NetworkState.Address)
    case addressRemoved(NetworkState.Address)
    case defaultRoute(NetworkState.DefaultRoute)
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
