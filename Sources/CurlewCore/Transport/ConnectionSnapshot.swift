public import Foundation

/// The connections of a session or a transport at one moment.
///
///     let snapshot = await session.connections
///     for (origin, pool) in snapshot.origins { print(origin, pool.inUse, pool.idle, pool.waiting) }
///
/// An origin is listed while it has a connection, is being connected to, or has a request that waits. Requests that are
/// suspended before they were sent, or wait for the session's resolver, are not counted.
public struct ConnectionSnapshot: Sendable, Hashable {
    /// The pools by the origin of the requests that opened their connections.
    public var origins: [Origin: Pool]

    /// Creates a snapshot; by default that of a transport without connections.
    public init(origins: [Origin: Pool] = [:]) { self.origins = origins }

    /// The sums of all origins, with the latest HTTP version and the age of the oldest connection.
    public var totals: Pool {
        origins.values.reduce(into: Pool()) { $0.add($1) }
    }

    /// The scheme, host and port of a URL.
    public struct Origin: Sendable, Hashable, CustomStringConvertible {
        /// `http` or `https`.
        public let scheme: String
        /// The host in lower case, an IPv6 address without brackets.
        public let host: String
        /// The port.
        public let port: Int

        /// Creates an origin.
        public init(scheme: String, host: String, port: Int) {
            self.scheme = scheme.lowercased()
            self.host = host.lowercased()
            self.port = port
        }

        /// Creates the origin of a URL, with the scheme's default port if the URL has none. A WebSocket's URL has the
        /// origin of its handshake. `nil` for any other scheme, and without a host.
        public init?(_ url: URL) {
            guard let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
            switch url.scheme?.lowercased() {
            case "http", "ws": self.init(scheme: "http", host: host, port: url.port ?? 80)
            case "https", "wss": self.init(scheme: "https", host: host, port: url.port ?? 443)
            default: return nil
            }
        }

        /// Returns the description of a URL's origin; `nil` if it has none. Most URLs begin with this text, and are
        /// not parsed.
        package static func description(of url: URL) -> String? {
            var text = url.absoluteString
            let scan = URLScan(text)
            guard scan.hasPlainHost, let parts = scan.parts else { return Self(url)?.description }
            let description = text.withUTF8 { bytes -> String? in
                let origin = bytes[..<parts.origin]
                // Empty, or a colon and the digits.
                let port = bytes[parts.host.upperBound..<parts.origin]
                // The description has no upper case, no default port and no zeros before the port.
                let isShort = parts.port != (parts.isTLS ? 443 : 80) && port.dropFirst().first != UInt8(ascii: "0")
                let isCanonical = (port.isEmpty || isShort) && origin.allSatisfy { ASCII.lowercased($0) == $0 }
                return isCanonical ? String(decoding: origin, as: UTF8.self) : nil
            }
            return description ?? Self(url)?.description
        }

        /// The origin as a URL without a path, with its port if that is not the scheme's default.
        public var description: String {
            let name = Hostname.bracketed(host)
            return port == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
        }
    }

    /// The connections to one origin, or to all of them, and the requests that wait for one.
    public struct Pool: Sendable, Hashable {
        /// The connections that are established: those in use and those that are idle.
        public var open = 0
        /// The connections that carry requests. With HTTP/2, each may carry many.
        public var inUse = 0
        /// The connections that carry no request. The next requests can use them at once, except for those that have
        /// reached `maximumConnectionAge` since they were last used: the next request replaces these.
        public var idle: Int { max(0, open - inUse) }
        /// The connections that are being established.
        public var opening = 0
        /// The requests that wait for a connection.
        public var waiting = 0
        /// The version of HTTP that the connections speak, the latest one if they differ; `nil` without connections, or
        /// if it is unknown.
        public var version: HTTPVersion?
        /// The age of the oldest connection; `nil` without connections.
        public var oldestAge: Duration?

        /// Creates a pool without connections.
        public init() {}

        package mutating func add(_ other: Pool) {
            open += other.open
            inUse += other.inUse
            opening += other.opening
            waiting += other.waiting
            add(version: other.version, age: other.oldestAge)
        }

        package mutating func add(version new: HTTPVersion?, age: Duration?) {
            if let new { version = version.map { $0.rawValue < new.rawValue ? new : $0 } ?? new }
            if let age { oldestAge = oldestAge.map { max($0, age) } ?? age }
        }
    }
}

/// A transport that keeps connections for later requests.
///
/// A decorator conforms to it to pass the calls on to the transport that it wraps. Over a transport that does not
/// conform, `Session.connections` is empty, and `Session.prewarm(_:connections:)` throws `.unsupported`.
public protocol PoolingTransport: Transport {
    /// The connections at this moment.
    var connections: ConnectionSnapshot { get async }

    /// Opens connections to the server of the request's URL, and sends nothing. The connections follow the rules of an
    /// exchange.
    ///
    /// When it returns, at least `count` connections are open, or as many as the transport permits; idle ones that were
    /// open before count. One is enough if it serves several requests at once. Throws the error that an exchange would
    /// throw. Cancelling the calling task abandons the attempts.
    func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError)
}

extension Transport {
    /// The connections of a transport that keeps some; an empty snapshot of any other.
    package var pooledConnections: ConnectionSnapshot {
        get async { await (self as? any PoolingTransport)?.connections ?? ConnectionSnapshot() }
    }

    /// Opens connections if the transport keeps them for later requests; throws `.unsupported` otherwise.
    package func prewarmPool(for request: TransferRequest, connections count: Int) async throws(CurlewError) {
        guard let pooling = self as? any PoolingTransport else {
            throw .unsupported(
                feature: "opening connections in advance", needs: "a transport that keeps them (PoolingTransport)")
        }
        try await pooling.prewarm(request, connections: count)
    }
}
