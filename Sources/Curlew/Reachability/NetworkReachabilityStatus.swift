/// Whether there is a way to the network, as the kernel's routes and links tell it.
///
/// A route is a way, not a promise of an answer: use it to decide when to try again, never
/// whether to try at all.
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
        /// A modem: `wwan` and `ppp` links.
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
