/// The reachability of the network, as the kernel's routes and links tell it.
///
/// A route does not guarantee a response: use the status to decide when to try again, never to decide whether to try at
/// all.
public enum NetworkReachabilityStatus: Sendable, Hashable, CustomStringConvertible {
    /// The status has not been determined yet.
    case unknown
    /// There is no route.
    case notReachable
    /// There is a route of this kind.
    case reachable(ConnectionType)

    /// The kind of network that a route uses.
    public enum ConnectionType: Sendable, Hashable {
        /// Any interface that is not a modem.
        case ethernetOrWiFi
        /// A cellular modem, recognised by the type or name of its device. Other PPP links, for example PPPoE, count as
        /// well.
        case cellular
    }

    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .notReachable: "not reachable"
        case .reachable(.ethernetOrWiFi): "reachable over ethernet or WiFi"
        case .reachable(.cellular): "reachable over a cellular modem"
        }
    }
}
