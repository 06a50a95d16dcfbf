import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import class Curlew.AlternativeServiceStore
@testable import class Curlew.NetworkChanges
@testable import class Curlew.NetworkReachabilityManager
@testable import struct Curlew.NetworkState

/// Real links that lose and regain their carrier, in a network namespace that the test creates.
@Suite("Reachability in a network namespace", .serialized, .timeLimit(.minutes(4)), .enabled(if: Namespace.isAvailable))
struct NamespaceTimingTests {
    @Test func `a link that loses and regains its carrier is reported within 100 ms`() async throws {
        let namespace = try Namespace()
        defer { namespace.remove() }
        try namespace.addPair()
        let manager = NetworkReachabilityManager(target: .defaultRoute, namespace: namespace.path)
        var statuses = manager.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))

        // A busy machine may delay most rounds. The fastest rounds show how long a report itself takes.
        var (downs, ups): ([Duration], [Duration]) = ([], [])
        for _ in 0..<5 {
            downs.append(
                try await Self.delay(of: .notReachable, in: &statuses) {
                    try namespace.ip("link", "set", "v1", "down")
                })
            ups.append(
                try await Self.delay(of: .reachable(.ethernetOrWiFi), in: &statuses) {
                    try namespace.ip("link", "set", "v1", "up")
                })
        }
        #expect(downs.sorted()[1] < Duration.milliseconds(100).asTestBound, "\(downs)")
        #expect(ups.sorted()[1] < Duration.milliseconds(100).asTestBound, "\(ups)")
        #expect(manager.isReachableOnEthernetOrWiFi)
    }

    @Test func `removing and adding the default route is reported`() async throws {
        let namespace = try Namespace()
        defer { namespace.remove() }
        try namespace.addPair()
        let manager = NetworkReachabilityManager(target: .defaultRoute, namespace: namespace.path)
        var statuses = manager.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        try namespace.ip("route", "del", "default")
        #expect(await statuses.next() == .notReachable)
        try namespace.ip("-6", "route", "add", "default", "dev", "v0")
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
    }

    /// The kernel sends no message when these IPv4 routes disappear.
    @Test(arguments: [["link", "set", "v0", "down"], ["addr", "flush", "dev", "v0"]])
    func `a default route that goes with its link or address is reported`(command: [String]) async throws {
        let namespace = try Namespace()
        defer { namespace.remove() }
        try namespace.addPair()
        let manager = NetworkReachabilityManager(target: .defaultRoute, namespace: namespace.path)
        var statuses = manager.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        try namespace.ip(command)
        #expect(await statuses.next() == .notReachable)
        try namespace.ip(["link", "set", "v0", "up"])
        // Another change of routes, so that the next status describes the time after the link was set up.
        try namespace.ip(["-6", "route", "add", "default", "dev", "v0"])
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        try namespace.ip(["-6", "route", "del", "default", "dev", "v0"])
        #expect(await statuses.next() == .notReachable)
    }

    @Test func `a host is followed by its own route`() async throws {
        let namespace = try Namespace()
        defer { namespace.remove() }
        try namespace.addPair()
        let manager = NetworkReachabilityManager(target: .host("192.0.2.7"), namespace: namespace.path)
        var statuses = manager.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        try namespace.ip("route", "del", "default")
        #expect(await statuses.next() == .notReachable)
        try namespace.ip("route", "add", "192.0.2.0/24", "via", "10.99.0.2")
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
    }

    @Test func `another default route forgets what servers announced in the network before`() async throws {
        let namespace = try Namespace()
        defer { namespace.remove() }
        try namespace.addPair()
        let changes = NetworkChanges(namespace: namespace.path)
        let store = AlternativeServiceStore()
        changes.add(store)
        let origin = SecureOrigin(host: "a.example", port: 443)
        // The first report describes no change; wait for it before the routes change.
        let manager = NetworkReachabilityManager(target: .defaultRoute, namespace: namespace.path)
        var statuses = manager.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        var metric = 1
        try await eventually {
            // The new route changes the network and not the status.
            store.receive(["Alt-Svc": "h3=\":443\""], from: origin)
            try? namespace.ip("route", "add", "default", "via", "10.99.0.2", "metric", "\(metric)")
            metric += 1
            return store.isEmpty
        }
        #expect(manager.isReachableOnEthernetOrWiFi)
    }

    /// Returns the time between the end of `change` and the report of `status`. The command's own duration does not
    /// count.
    private static func delay(
        of status: NetworkReachabilityStatus,
        in statuses: inout AsyncStream<NetworkReachabilityStatus>.Iterator,
        after change: () throws -> Void
    ) async throws -> Duration {
        try change()
        let start = ContinuousClock.now
        while let next = await statuses.next(isolation: #isolation), next != status {}
        return ContinuousClock.now - start
    }
}
