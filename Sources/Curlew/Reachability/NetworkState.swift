/// What the kernel says about links and default routes: enough to decide whether there is a way out.
struct NetworkState: Sendable, Equatable {
    struct Link: Sendable, Equatable {
        var index: Int32
        var name: String
        /// ARPHRD_* of the device.
        var hardwareType: UInt16
        /// Administratively up, with a carrier.
        var isRunning: Bool
    }

    /// A route that matches everything.
    struct DefaultRoute: Sendable, Hashable {
        var isIPv6: Bool
        /// nil for a route over several links.
        var interface: Int32?
        var table: UInt32
        var priority: UInt32
    }

    var links: [Int32: Link] = [:]
    var defaultRoutes: Set<DefaultRoute> = []

    mutating func apply(_ change: NetworkChange) {
        switch change {
        case .link(let link): links[link.index] = link
        case .linkRemoved(let index):
            links[index] = nil
            defaultRoutes = defaultRoutes.filter { $0.interface != index }
        case .defaultRoute(let route): defaultRoutes.insert(route)
        case .defaultRouteRemoved(let route): defaultRoutes.remove(route)
        }
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
