import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Open connections")
struct OpenConnectionsTests {
    private func retirement(_ age: Duration?, _ requests: Int?) -> ConnectionRetirement? {
        var configuration = TransportConfiguration()
        configuration.maximumConnectionAge = age
        configuration.maximumRequestsPerConnection = requests
        return ConnectionRetirement(configuration)
    }

    @Test func `without limits there is nothing to decide`() { #expect(retirement(nil, nil) == nil) }

    private struct Case: Sendable {
        var age: Duration?
        var most: Int?
        var nanoseconds: UInt64 = 0
        var requests = 0
        let verdict: ConnectionRetirement.Verdict
    }

    private static let cases = [
        Case(most: 3, requests: 0, verdict: .takes),
        Case(most: 3, requests: 1, verdict: .takes),
        Case(most: 3, requests: 2, verdict: .takesLast),
        Case(most: 3, requests: 3, verdict: .refuses),
        Case(most: 3, requests: 4, verdict: .refuses),
        Case(most: 1, verdict: .takesLast),
        Case(most: 0, verdict: .takesLast),
        Case(most: -5, verdict: .takesLast),
        Case(age: .seconds(1), nanoseconds: 999_999_999, requests: 9, verdict: .takes),
        Case(age: .seconds(1), nanoseconds: 1_000_000_000, verdict: .refuses),
        Case(age: .seconds(1), most: 3, requests: 2, verdict: .takesLast),
        Case(age: .seconds(1), most: 3, nanoseconds: 2_000_000_000, requests: 2, verdict: .refuses),
        // A new connection takes a request, whatever the limit.
        Case(age: .zero, verdict: .takes),
        Case(age: .seconds(-1), verdict: .takes),
        Case(age: .zero, nanoseconds: 1_000_000, verdict: .refuses),
    ]

    @Test(arguments: cases)
    private func `age and count decide`(_ row: Case) throws {
        let limits = try #require(retirement(row.age, row.most))
        #expect(limits.verdict(age: row.nanoseconds, requests: row.requests) == row.verdict)
    }

    private let origin = ConnectionSnapshot.Origin(scheme: "https", host: "a.example", port: 443)
    private let other = ConnectionSnapshot.Origin(scheme: "https", host: "b.example", port: 443)

    private static func name(
        _ port: Int32, at local: String = "127.0.0.1", to peer: String = "127.0.0.1", _ peerPort: Int32 = 443
    ) -> ConnectionName {
        local.withCString { local in
            peer.withCString { peer in
                ConnectionName(
                    local: .init(address: local, port: port), peer: .init(address: peer, port: peerPort))
            }
        }
    }

    @Test func `each end's address and port is a part of the name`() {
        let name = Self.name(7)
        #expect(name == Self.name(7))
        #expect(name != Self.name(8))
        // Linux gives the same local port to connections that lead to different ports of one address.
        #expect(name != Self.name(7, to: "127.0.0.1", 8443))
        #expect(name != Self.name(7, to: "127.0.0.2"))
        #expect(name != Self.name(7, at: "127.0.0.2"))
        #expect(Self.name(7, at: "::1", to: "::11") != Self.name(7, at: "::1::", to: "11"))
        #expect(Self.name(7, at: "10.0.0.1", to: "10.0.0.2") != Self.name(7, at: "10.0.0.2", to: "10.0.0.1"))
    }

    @Test func `an origin leads to its spare multi handle or to the usual ones`() throws {
        var connections = OpenConnections()
        let spare = MultiIndex.firstSpare
        connections.opened(connection(0), at: 40)
        #expect(connections.usesMulti(0, for: origin) && connections.usesMulti(3, for: origin))
        for index in [spare, MultiIndex.lone, MultiIndex.firstOfByteConnections, MultiIndex.none] {
            #expect(!connections.usesMulti(index, for: origin))
        }
        try retire(40, &connections)
        #expect(connections.usesMulti(spare, for: origin) && !connections.usesMulti(0, for: origin))
        #expect(!connections.usesMulti(spare + 1, for: origin))
        // Another origin whose requests share the connection has not moved.
        #expect(connections.usesMulti(0, for: other))
    }

    private func connection(
        _ multi: Int, _ port: Int32 = 1, of origin: ConnectionSnapshot.Origin? = nil
    ) -> OpenConnection {
        OpenConnection(
            origin: origin ?? self.origin, name: Self.name(port), multi: multi,
            since: .now(), version: .http2)
    }

    /// Retires a connection as `Transfers` does, and expects that the connections in `idle` must be shut down.
    private func retire(
        _ socket: Int32, _ connections: inout OpenConnections, carrying: Set<Int32> = [], idle: [Int32] = []
    ) throws {
        let connection = try #require(connections[socket])
        let destination = try #require(connections.destination(behind: connection))
        let left = connections.retire(socket, carrying: carrying, movingTo: destination)
        #expect(left.sorted() == idle)
    }

    @Test func `a connection is found by its name until its socket closes`() {
        var connections = OpenConnections()
        let name = Self.name(7)
        connections.opened(connection(0, 7), at: 40)
        #expect(connections.socket(of: name) == 40)
        #expect(connections.find(name)?.socket == 40 && connections.find(nil) == nil)
        // The port is used again before the old socket's close is known.
        connections.opened(connection(0, 7), at: 41)
        connections.closed(40)
        #expect(connections.socket(of: name) == 41)
        connections.closed(41)
        connections.closed(41)
        #expect(connections.socket(of: name) == nil && connections.find(name) == nil && connections.all.isEmpty)
    }

    @Test func `an origin leaves the multi handle of a retired connection and comes back`() throws {
        var connections = OpenConnections()
        let spare = MultiIndex.firstSpare
        connections.opened(connection(0, 1), at: 40)
        connections.opened(connection(0, 9, of: other), at: 90)
        try retire(40, &connections)
        #expect(connections[40]?.isRetired == true)
        #expect(connections.spareMulti(of: origin) == spare && connections.spareMulti(of: other) == nil)
        // The spare multi handle gets a retired connection as well, while the first retired connection still drains.
        connections.opened(connection(spare, 2), at: 41)
        try retire(41, &connections, carrying: [40, 90])
        #expect(connections.spareMulti(of: origin) == spare + 1)
        // The usual multi handle is free again, because its retired connection has closed.
        connections.closed(40)
        connections.opened(connection(spare + 1, 3), at: 42)
        try retire(42, &connections, carrying: [41])
        #expect(connections.spareMulti(of: origin) == nil)
    }

    @Test func `an idle connection ends at its second PING`() {
        var connections = OpenConnections()
        for (socket, multi) in [(Int32(40), 0), (41, 0), (42, 1)] {
            connections.opened(connection(multi, socket), at: socket)
        }
        let plain = OpenConnection(origin: origin, name: Self.name(43), multi: 0, since: .now(), version: .http1_1)
        connections.opened(plain, at: 43)
        func queue(carrying: Set<Int32>) -> [Int32] { connections.pingsQueued(in: 0, carrying: carrying).sorted() }
        #expect(queue(carrying: [40]) == [])
        // A connection that carries requests again has sent its queued PINGs.
        #expect(queue(carrying: [40, 41]) == [])
        #expect(queue(carrying: [40]) == [])
        #expect(queue(carrying: [40]) == [41])
        // The connection is shut down once, and stays in the list until libcurl closes it.
        #expect(queue(carrying: [40]) == [])
        #expect(connections[42]?.queuedPings == 0 && connections[43]?.queuedPings == 0)
        // A request on a connection sends its queued PINGs.
        connections.pingsWritten(to: Self.name(41))
        #expect(queue(carrying: [40]) == [])
        #expect(queue(carrying: [40]) == [41])
    }

    @Test func `an origin without connections goes the usual way`() throws {
        var connections = OpenConnections()
        connections.opened(connection(0), at: 40)
        try retire(40, &connections)
        connections.closed(40)
        #expect(!connections.hasMovedOrigins)
    }

    @Test func `the origin's other connections retire as well, and those without requests are removed`() throws {
        var connections = OpenConnections()
        for number in 0..<4 as Range<Int32> { connections.opened(connection(0, number), at: 40 + number) }
        let overUDP = OpenConnection(origin: origin, name: Self.name(4), multi: 0, since: .now(), version: .http3)
        connections.opened(overUDP, at: 44)
        connections.opened(connection(0, 5, of: other), at: 50)
        connections.opened(connection(MultiIndex.lone, 6), at: 60)
        connections.opened(connection(MultiIndex.firstOfByteConnections, 7), at: 70)
        // The sockets of other origins and kinds do not matter, whether they carry requests or not.
        try retire(40, &connections, carrying: [40, 41, 50], idle: [42, 43])
        for socket in [40, 41, 44] as [Int32] { #expect(connections[socket]?.isRetired == true) }
        for socket in [50, 60, 70] as [Int32] { #expect(connections[socket]?.isRetired == false) }
        #expect(connections[42] == nil && connections.find(Self.name(3)) == nil)
        // libcurl closes the sockets later.
        connections.closed(42)
        connections.closed(43)
        #expect(connections.spareMulti(of: origin) == MultiIndex.firstSpare)
        for socket in [40, 41, 44] as [Int32] { connections.closed(socket) }
        #expect(!connections.hasMovedOrigins)
    }

    @Test func `a connection that was being opened when its origin moved is retired`() throws {
        var connections = OpenConnections()
        let spare = MultiIndex.firstSpare
        connections.opened(connection(0, 1), at: 40)
        try retire(40, &connections)
        connections.opened(connection(0, 2), at: 41)
        connections.opened(connection(spare, 3), at: 42)
        connections.opened(connection(MultiIndex.lone, 4), at: 43)
        connections.opened(connection(0, 5, of: other), at: 44)
        #expect(connections[41]?.isRetired == true)
        for socket in [42, 43, 44] as [Int32] { #expect(connections[socket]?.isRetired == false) }
    }

    @Test func `an origin follows a connection that was being opened when its last one closed`() throws {
        var connections = OpenConnections()
        let spare = MultiIndex.firstSpare
        connections.opened(connection(0, 1), at: 40)
        try retire(40, &connections)
        connections.closed(40)
        #expect(!connections.hasMovedOrigins)
        connections.opened(connection(spare, 2), at: 41)
        #expect(connections[41]?.isRetired == false && connections.spareMulti(of: origin) == spare)
        connections.closed(41)
        // The origin does not move if it has another connection by then.
        connections.opened(connection(0, 3), at: 42)
        connections.opened(connection(spare, 4), at: 43)
        #expect(connections[43]?.isRetired == true && !connections.hasMovedOrigins)
    }

    @Test func `a connection goes on if there is nowhere else to go`() throws {
        var connections = OpenConnections()
        connections.opened(connection(0, 1), at: 40)
        try retire(40, &connections)
        for number in 0..<OpenConnections.mostSpares - 1 {
            let socket = Int32(41 + number)
            connections.opened(connection(MultiIndex.firstSpare + number, 2 + Int32(number)), at: socket)
            // The earlier connections still carry requests.
            try retire(socket, &connections, carrying: Set(40..<socket))
        }
        let last = MultiIndex.firstSpare + OpenConnections.mostSpares - 1
        connections.opened(connection(last, 500), at: 500)
        let connection = try #require(connections[500])
        #expect(connections.destination(behind: connection) == nil && connections.spareMulti(of: origin) == last)
        connections.closed(45)
        #expect(connections.destination(behind: connection) == MultiIndex.firstSpare + 4)
        connections.closed(40)
        #expect(connections.destination(behind: connection) == 0)
    }
}
