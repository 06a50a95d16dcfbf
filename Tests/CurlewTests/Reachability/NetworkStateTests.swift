import Testing

@testable import Curlew

@Suite("The status that routes and links amount to")
struct NetworkStateTests {
    private static func link(_ index: Int32, _ name: String, running: Bool = true, type: UInt16 = 1) -> NetworkChange {
        .link(NetworkState.Link(index: index, name: name, hardwareType: type, isRunning: running))
    }

    private static func route(_ interface: Int32?, priority: UInt32 = 0, ipv6: Bool = false) -> NetworkChange {
        .defaultRoute(NetworkState.DefaultRoute(isIPv6: ipv6, interface: interface, table: 254, priority: priority))
    }

    private static func removedRoute(_ interface: Int32) -> NetworkChange {
        .defaultRouteRemoved(NetworkState.DefaultRoute(isIPv6: false, interface: interface, table: 254, priority: 0))
    }

    static let cases: [(String, [NetworkChange], NetworkReachabilityStatus)] = [
        ("nothing known", [], .notReachable),
        ("a link without a route", [link(2, "eth0")], .notReachable),
        ("a route over a running link", [link(2, "eth0"), route(2)], .reachable(.ethernetOrWiFi)),
        ("a route over a link without carrier", [link(2, "eth0", running: false), route(2)], .notReachable),
        (
            "a carrier that comes back", [link(2, "e", running: false), route(2), link(2, "e")],
            .reachable(.ethernetOrWiFi)
        ),
        ("a route removed", [link(2, "eth0"), route(2), removedRoute(2)], .notReachable),
        ("a link removed takes its route along", [link(2, "eth0"), route(2), .linkRemoved(index: 2)], .notReachable),
        ("IPv6 alone", [link(2, "eth0"), route(2, ipv6: true)], .reachable(.ethernetOrWiFi)),
        ("a modem by name", [link(3, "wwan0"), route(3)], .reachable(.cellular)),
        ("a modem by type", [link(3, "usb0", type: 519), route(3)], .reachable(.cellular)),
        (
            "the cheaper route decides",
            [link(2, "eth0"), link(3, "ppp0"), route(2, priority: 100), route(3, priority: 50)], .reachable(.cellular)
        ),
        (
            "the cheaper route is dead",
            [link(2, "eth0"), link(3, "ppp0", running: false), route(2, priority: 100), route(3, priority: 50)],
            .reachable(.ethernetOrWiFi)
        ),
        ("a route over several links", [route(nil)], .reachable(.ethernetOrWiFi)),
    ]

    @Test(arguments: cases)
    func status(name: String, changes: [NetworkChange], expected: NetworkReachabilityStatus) {
        var state = NetworkState()
        for change in changes { state.apply(change) }
        #expect(state.statusOfDefaultRoute == expected, "\(name)")
    }

    @Test func `a host is as reachable as the link its route leads over`() {
        var state = NetworkState()
        state.apply(Self.link(2, "eth0"))
        state.apply(Self.link(4, "eth1", running: false))
        #expect(state.status(of: .over(interface: 2)) == .reachable(.ethernetOrWiFi))
        #expect(state.status(of: .over(interface: 4)) == .notReachable)
        #expect(state.status(of: .over(interface: 9)) == .notReachable)
        #expect(state.status(of: .unreachable) == .notReachable)
    }

    @Test func `truncated and absurd messages are ignored`() {
        let samples: [[UInt8]] = [
            [], [1], Array(repeating: 0, count: 16), Array(repeating: 0xFF, count: 64),
            [20, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9],
        ]
        for bytes in samples {
            let content = bytes.withUnsafeBytes { NetlinkMessages.parse($0) }
            #expect(content.changes.isEmpty)
        }
    }
}
