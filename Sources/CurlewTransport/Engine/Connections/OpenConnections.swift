internal import CurlewCore
internal import Glibc

/// Identifies a connection by the addresses and ports of both ends, which libcurl reports before it sends a request.
/// The local port is not enough: Linux gives it to several connections if their peers differ, even by the port alone.
struct ConnectionName: Hashable {
    /// One end of a connection.
    struct End {
        var address: UnsafePointer<CChar>?
        var port: Int32
    }

    let localPort: Int32
    /// A hash of the local address, and of the peer's address and port.
    private let rest: UInt64

    init(local: End, peer: End) {
        localPort = local.port
        let hash = Self.add(UInt64(UInt32(bitPattern: peer.port)), to: 0xCBF2_9CE4_8422_2325)
        // A number that is no byte separates the addresses.
        rest = Self.add(peer.address, to: Self.add(256, to: Self.add(local.address, to: hash)))
    }

    private static func add(_ number: UInt64, to hash: UInt64) -> UInt64 { (hash ^ number) &* 0x100_0000_01B3 }

    private static func add(_ text: UnsafePointer<CChar>?, to hash: UInt64) -> UInt64 {
        var (hash, next) = (hash, text)
        while let byte = next, byte.pointee != 0 {
            hash = add(UInt64(UInt8(truncatingIfNeeded: byte.pointee)), to: hash)
            next = byte + 1
        }
        return hash
    }
}

/// An established connection, in use or idle.
struct OpenConnection {
    typealias Origin = ConnectionSnapshot.Origin

    /// The origin of the request that has opened the connection.
    let origin: Origin
    /// `nil` over Unix sockets, which have no ports, and with a libcurl that does not ask before it sends.
    let name: ConnectionName?
    /// The index of the multi handle that has the connection.
    let multi: Int
    /// When the connection was established.
    let since: LoopInstant
    /// `nil` if the TLS library does not say what the peers agreed on.
    let version: HTTPVersion?
    /// The number of requests that it has carried. Counted only if a transport limits it.
    var requests = 0
    /// The number of PINGs that were queued since it last carried requests.
    var queuedPings = 0
    /// Whether it takes no further requests, and closes after those that it carries.
    var isRetired = false

    /// Whether the connection may carry several requests at once.
    var isMultiplexed: Bool { version != .http1_1 }
    /// Whether other requests may use it: it belongs neither to the lone multi handle nor to those of byte connections.
    var isShared: Bool { (0..<MultiIndex.lone).contains(multi) }
}

/// The established connections of one engine, by their sockets: those of exchanges, idle or in use, and byte
/// connections.
///
/// A connection is added when it is about to carry its first request, and removed when its socket is closed: requests
/// on connections that are used again cost nothing here.
struct OpenConnections {
    private(set) var all: [Int32: OpenConnection] = [:]
    private var sockets: [ConnectionName: Int32] = [:]
    /// The number of multiplexed connections to each origin that has any.
    private var multiplexedCounts: [OpenConnection.Origin: Int] = [:]
    /// The origins that have moved to a spare multi handle, because their usual one has a retired connection, and its
    /// index.
    private var movedOrigins: [OpenConnection.Origin: Int] = [:]

    subscript(socket: Int32) -> OpenConnection? { all[socket] }

    func socket(of name: ConnectionName?) -> Int32? { name.flatMap { sockets[$0] } }

    /// Returns the connection with this name, and its socket.
    func find(_ name: ConnectionName?) -> (socket: Int32, connection: OpenConnection)? {
        guard let socket = socket(of: name), let connection = all[socket] else { return nil }
        return (socket, connection)
    }

    mutating func opened(_ connection: OpenConnection, at socket: Int32) {
        closed(socket)
        all[socket] = connection
        if connection.isMultiplexed { multiplexedCounts[connection.origin, default: 0] += 1 }
        if let name = connection.name { sockets[name] = socket }
        guard connection.isShared, !usesMulti(connection.multi, for: connection.origin) else { return }
        // The connection was being opened when its origin moved to another multi handle. If the origin has returned to
        // its usual one because it had no connection left, it moves to this connection's multi handle. Otherwise its
        // requests would not find the connection, which retires.
        if movedOrigins[connection.origin] == nil, !hasConnections(connection.origin, besides: socket) {
            movedOrigins[connection.origin] = connection.multi
        } else {
            all[socket]?.isRetired = true
        }
    }

    /// Called when any socket is closed, and when a connection was shut down.
    mutating func closed(_ socket: Int32) {
        guard let connection = all.removeValue(forKey: socket) else { return }
        if let name = connection.name, sockets[name] == socket { sockets[name] = nil }
        if connection.isMultiplexed, let count = multiplexedCounts[connection.origin] {
            multiplexedCounts[connection.origin] = count > 1 ? count - 1 : nil
        }
        // An origin without connections may use its usual multi handle again.
        guard !movedOrigins.isEmpty, movedOrigins[connection.origin] != nil else { return }
        if !hasConnections(connection.origin) { movedOrigins[connection.origin] = nil }
    }

    private func hasConnections(_ origin: OpenConnection.Origin, besides socket: Int32 = -1) -> Bool {
        all.contains { $0.key != socket && $0.value.isShared && $0.value.origin == origin }
    }

    /// Whether the origin has a connection that may carry several requests at once.
    func multiplexes(_ origin: OpenConnection.Origin) -> Bool { multiplexedCounts[origin] != nil }

    mutating func countRequest(on socket: Int32) { all[socket]?.requests += 1 }

    /// Called when a request is about to be sent: libcurl writes the queued PINGs with it.
    mutating func pingsWritten(to name: ConnectionName) {
        if let socket = sockets[name] { all[socket]?.queuedPings = 0 }
    }

    /// Called when a PING was queued on every HTTP/2 connection of a multi handle, of which those in `carrying` carry
    /// requests. Returns the sockets of idle connections on which too many wait; they must be shut down.
    mutating func pingsQueued(in multi: Int, carrying: Set<Int32>) -> [Int32] {
        var full: [Int32] = []
        for (socket, connection) in all where connection.multi == multi && connection.version == .http2 {
            let count = carrying.contains(socket) ? 0 : connection.queuedPings + 1
            all[socket]?.queuedPings = count
            if count == Self.mostQueuedPings { full.append(socket) }
        }
        return full
    }

    /// An idle connection with this number of queued PINGs is shut down.
    static let mostQueuedPings = 2

    // MARK: Retired connections

    /// The most spare multi handles.
    static let mostSpares = 32

    private static let spares = MultiIndex.firstSpare..<MultiIndex.firstSpare + mostSpares

    /// A multi handle without a retired connection to this origin, for the time when this connection has retired:
    /// a spare's index, 0 for the usual ones, `nil` if none.
    func destination(behind connection: OpenConnection) -> Int? {
        var taken: Set<Int> = [connection.multi]
        for other in all.values where other.isRetired && other.origin == connection.origin { taken.insert(other.multi) }
        return taken.allSatisfy(Self.spares.contains) ? 0 : Self.spares.first { !taken.contains($0) }
    }

    /// Retires a multiplexed connection, and directs its origin to another multi handle, which `destination` has found.
    /// The origin's other connections are retired as well, because its requests would not find them. `carrying` has the
    /// sockets of connections that carry requests. The others have no last request after which libcurl would close
    /// them: they are removed, and the caller must shut down the sockets that are returned.
    mutating func retire(_ socket: Int32, carrying: Set<Int32>, movingTo destination: Int) -> [Int32] {
        guard let origin = all[socket]?.origin else { return [] }
        movedOrigins[origin] = Self.spares.contains(destination) ? destination : nil
        var idle: [Int32] = []
        for (other, connection) in all where connection.isShared && connection.origin == origin {
            // Shutting down a UDP socket informs no peer, and it is unknown whether a connection without a name carries
            // requests. If libcurl offers such a connection, it is refused.
            if other == socket || carrying.contains(other) || connection.version == .http3 || connection.name == nil {
                all[other]?.isRetired = true
            } else {
                idle.append(other)
            }
        }
        for other in idle { closed(other) }
        return idle
    }

    var hasMovedOrigins: Bool { !movedOrigins.isEmpty }

    /// Whether the next requests to the origin use the multi handle with this index, and so may use its connections.
    func usesMulti(_ multi: Int, for origin: OpenConnection.Origin) -> Bool {
        movedOrigins[origin].map { $0 == multi } ?? (0..<MultiIndex.firstSpare).contains(multi)
    }

    /// The index of the spare multi handle that the origin uses; `nil` if it uses its usual one.
    func spareMulti(of origin: OpenConnection.Origin) -> Int? { movedOrigins[origin] }

    // MARK: Sockets

    /// The port of a socket's own end; `nil` if it has none.
    static func localPort(of socket: Int32) -> Int32? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return nil }
            guard getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &length) == 0 else { return nil }
            // The port follows the family, for IPv4 and IPv6.
            switch Int32(bytes.load(as: sa_family_t.self)) {
            case AF_INET, AF_INET6: return Int32(UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self)))
            default: return nil
            }
        }
    }

    /// Whether the system is repeating sent bytes that the peer of a TCP socket has not acknowledged in time.
    static func repeatsBytes(on socket: Int32) -> Bool {
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        return getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0
            && info.tcpi_unacked > 0 && info.tcpi_retransmits > 0
    }

    /// Whether this is a UDP socket. Connections over UDP speak HTTP/3.
    static func isDatagram(_ socket: Int32) -> Bool {
        var kind: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(socket, SOL_SOCKET, SO_TYPE, &kind, &length) == 0 && kind == Int32(SOCK_DGRAM.rawValue)
    }
}
