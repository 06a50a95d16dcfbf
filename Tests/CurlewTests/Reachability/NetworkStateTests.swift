import Testing

@testable import Curlew

@Suite("The reachability status of routes and links")
struct NetworkStateTests {
    private static func link(_ index: Int32, _ name: String, running: Bool = true, type: UInt16 = 1) -> NetworkChange {
        .link(NetworkState.Link(index: index, name: name, hardwareType: type, isRunning: running))
    }

    private static func route(_ interfaces: Int32..., priority: UInt32 = 0, ipv6: Bool = false) -> NetworkChange {
        .defaultRoute(NetworkState.DefaultRoute(isIPv6: ipv6, interfaces: interfaces, table: 254, priority: priority))
    }

    private static func replaced(by interface: Int32) -> NetworkChange {
        .defaultRouteReplaced(
            NetworkState.DefaultRoute(isIPv6: false, interfaces: [interface], table: 254, priority: 0))
    }

    private static func removedRoute(_ interface: Int32) -> NetworkChange {
        .defaultRouteRemoved(NetworkState.DefaultRoute(isIPv6: false, interfaces: [interface], table: 254, priority: 0))
    }

    /// The kernel's message about a link that was switched off.
    private static func linkDown(_ index: Int32, _ name: String) -> NetworkChange {
        .link(NetworkState.Link(index: index, name: name, hardwareType: 1, isUp: false, isRunning: false))
    }

    private static func address(_ interface: Int32, _ last: UInt8) -> NetworkState.Address {
        NetworkState.Address(interface: interface, bytes: [192, 0, 2, last], prefixLength: 24)
    }

    private static func routeFrom(_ interface: Int32, _ last: UInt8) -> NetworkChange {
        .defaultRoute(
            NetworkState.DefaultRoute(
                isIPv6: false, interfaces: [interface], table: 254, priority: 0, source: [192, 0, 2, last]))
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
        (
            "a link that was switched off and on has lost its route",
            [link(2, "e"), route(2), linkDown(2, "e"), link(2, "e")],
            .notReachable
        ),
        (
            "a route that came back with its link",
            [link(2, "e"), route(2), linkDown(2, "e"), link(2, "e"), route(2)], .reachable(.ethernetOrWiFi)
        ),
        (
            "another link is switched off", [link(2, "e"), link(3, "f"), route(2), linkDown(3, "f")],
            .reachable(.ethernetOrWiFi)
        ),
        (
            "a link without addresses has no route",
            [link(2, "e"), .address(address(2, 1)), route(2), .addressRemoved(address(2, 1))], .notReachable
        ),
        (
            "one address is left",
            [
                link(2, "e"), .address(address(2, 1)), .address(address(2, 2)), route(2),
                .addressRemoved(address(2, 1)),
            ], .reachable(.ethernetOrWiFi)
        ),
        (
            "the address that a route's connections come from",
            [
                link(2, "e"), .address(address(2, 1)), .address(address(2, 2)), routeFrom(2, 1),
                .addressRemoved(address(2, 1)),
            ], .notReachable
        ),
        (
            "that address is another link's as well",
            [
                link(2, "e"), .address(address(2, 1)), .address(address(2, 2)), .address(address(3, 1)),
                routeFrom(2, 1),
                .addressRemoved(address(2, 1)),
            ], .reachable(.ethernetOrWiFi)
        ),
        (
            "routes of IPv6 do not go with addresses of IPv4",
            [link(2, "e"), .address(address(2, 1)), route(2, ipv6: true), .addressRemoved(address(2, 1))],
            .reachable(.ethernetOrWiFi)
        ),
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
        ("a route that names no link", [route()], .reachable(.ethernetOrWiFi)),
        (
            "one of several links works", [link(2, "e", running: false), link(3, "f"), route(2, 3)],
            .reachable(.ethernetOrWiFi)
        ),
        ("none of several links works", [link(2, "e", running: false), route(2, 3)], .notReachable),
        ("several modems", [link(2, "wwan0"), link(3, "ppp0"), route(2, 3)], .reachable(.cellular)),
        ("a modem and a card", [link(2, "wwan0"), link(3, "e"), route(2, 3)], .reachable(.ethernetOrWiFi)),
        (
            "of a modem and a card the card fails",
            [link(2, "wwan0"), link(3, "e"), route(2, 3), link(3, "e", running: false)], .reachable(.cellular)
        ),
        (
            "a route over several links goes with the last of them",
            [
                link(2, "e"), link(3, "f"), route(2, 3), linkDown(2, "e"), linkDown(3, "f"), link(2, "e"),
                link(3, "f"),
            ], .notReachable
        ),
        (
            "a route over several links stays with one of them",
            [link(2, "e"), link(3, "f"), route(2, 3), linkDown(2, "e"), link(3, "f", running: false), link(2, "e")],
            .reachable(.ethernetOrWiFi)
        ),
        (
            "a route over several links goes with their last address",
            [
                link(2, "e"), link(3, "f"), .address(address(2, 1)), .address(address(3, 2)), route(2, 3),
                .addressRemoved(address(2, 1)), .addressRemoved(address(3, 2)),
            ], .notReachable
        ),
        (
            "a route that was replaced is gone",
            [link(2, "e"), route(2), link(3, "f", running: false), replaced(by: 3)],
            .notReachable
        ),
    ]

    @Test(arguments: cases)
    func changesDecideRouteStatus(name: String, changes: [NetworkChange], expected: NetworkReachabilityStatus) {
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

    /// The kernel also sends RTM_DELLINK when a link leaves a bridge (AF_BRIDGE).
    @Test(arguments: [UInt8(0), 7], [UInt8(16), 17]) func `a link that enters or leaves a bridge stays`(
        family: UInt8, type: UInt8
    ) {
        let header: [UInt8] = [32, 0, 0, 0, type, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let body: [UInt8] = [family, 0, 1, 0, 2, 0, 0, 0, 0x41, 0, 0, 0, 0, 0, 0, 0]
        let content = (header + body).withUnsafeBytes { NetlinkMessages.parse($0) }
        #expect(content.changes.isEmpty == (family == 7))
    }

    /// A default route of IPv4 with RTA_MULTIPATH, in the form of a notification.
    private static func multipath(flags: UInt16, length: UInt8 = 8) -> [UInt8] {
        let hops: [UInt8] = [8, 0, 0, 0, 2, 0, 0, 0, length, 0, 0, 0, 3, 0, 0, 0]
        let body: [UInt8] = [2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0, 20, 0, 9, 0] + hops
        return [48, 0, 0, 0, 24, 0, UInt8(flags & 255), UInt8(flags >> 8), 0, 0, 0, 0, 0, 0, 0, 0] + body
    }

    @Test func `the links of a route over several of them`() {
        func changes(_ message: [UInt8]) -> [NetworkChange] {
            message.withUnsafeBytes { NetlinkMessages.parse($0).changes }
        }
        let both = NetworkState.DefaultRoute(isIPv6: false, interfaces: [2, 3], table: 254, priority: 0)
        #expect(changes(Self.multipath(flags: 0)) == [.defaultRoute(both)])
        #expect(changes(Self.multipath(flags: 0x100)) == [.defaultRouteReplaced(both)])
        #expect(changes(Self.multipath(flags: 0x102)) == [.defaultRoute(both)])
        // A malformed next hop ends the list.
        let first = NetworkState.DefaultRoute(isIPv6: false, interfaces: [2], table: 254, priority: 0)
        for length: UInt8 in [0, 7, 9] {
            #expect(changes(Self.multipath(flags: 0, length: length)) == [.defaultRoute(first)])
        }
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
