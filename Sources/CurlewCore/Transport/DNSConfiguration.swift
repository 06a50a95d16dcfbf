public import Foundation

/// The settings of name resolution.
public struct DNSConfiguration: Sendable, Hashable {
    /// Maps `host` or `host:port` to addresses, which are used instead of a resolver. Applies only to the hosts of URLs;
    /// the targets of ``TLSConfiguration/connectTo`` and the names of proxies are resolved.
    public var overrides: [String: [String]] = [:]
    /// Finds the addresses of hosts instead of libcurl, for instance in Consul, etcd or Kubernetes.
    ///
    /// ```swift
    /// let session = Session(configuration: SessionConfiguration {
    ///     $0.dns.resolver = { host, port in
    ///         DNSAnswer(addresses: try await registry.addresses(of: host), timeToLive: .seconds(10))
    ///     }
    /// })
    /// ```
    ///
    /// It gets the URL's host, in ASCII and lower case without a final dot, and the port. It is called once for all
    /// requests that wait for the same host and port, and again when the answer has expired. Its time counts towards
    /// the connect and total timeouts. It is cancelled when no request waits for it any longer. If it throws, or
    /// returns no usable address, the waiting requests fail with `.resolveFailed`; failures are not cached.
    ///
    /// It is not called for IP addresses, `localhost` and the names below it, hosts in `overrides` or `tls.connectTo`,
    /// a Unix socket, and proxies that resolve names themselves. `addressPolicy` and `ipVersion` apply to the addresses
    /// that it returns. A new answer concerns new connections: open ones are reused by the name of their host, whatever
    /// their address.
    public var resolver: (@Sendable (_ host: String, _ port: Int) async throws -> DNSAnswer)? {
        get { ownResolver?.resolve }
        set { ownResolver = newValue.map(DNSResolver.init) }
    }
    package private(set) var ownResolver: DNSResolver?
    /// The URL of a DNS-over-HTTPS server.
    ///
    /// libcurl connects to it directly, without the configured `proxy`, and always verifies its certificate: chain and
    /// name, against the trusted roots and the revocation list. If certificates are not verified at all, the system's
    /// roots are used. Server trust evaluators, pins, the client identity and the address policy do not apply to it. If
    /// the server fails verification, requests fail with `.resolveFailed`.
    public var dohURL: URL?
    /// The addresses of the name servers. They require a libcurl built with c-ares.
    public var servers: [String] = []
    /// The time for which libcurl caches a resolved name. `resolver` determines the time of its answers itself.
    public var cacheLifetime: Duration = .seconds(60)
    /// The IP versions to use.
    public var ipVersion: IPVersion = .any
    /// The time that IPv6 has before IPv4 is tried too; `nil` is libcurl's 200 ms.
    public var happyEyeballsDelay: Duration?

    /// The IP versions to use.
    public enum IPVersion: Sendable, Hashable {
        /// Both; the first to connect is used.
        case any
        /// IPv4 only.
        case v4
        /// IPv6 only.
        case v6
    }

    /// Creates a configuration.
    public init(overrides: [String: [String]] = [:]) { self.overrides = overrides }
}

/// The addresses of a host, as your resolver has found them. See ``DNSConfiguration/resolver``.
public struct DNSAnswer: Sendable, Hashable {
    /// IPv4 and IPv6 addresses as text, in the order in which they are tried. Of each IP version, the next one is tried
    /// if the one before cannot be reached. The first 64 are used.
    public var addresses: [String]
    /// The time for which the session uses the answer without asking again, at most a week. With zero, it serves only
    /// the requests that are waiting for it.
    public var timeToLive: Duration

    /// Creates an answer.
    public init(addresses: [String], timeToLive: Duration = .seconds(60)) {
        self.addresses = addresses
        self.timeToLive = timeToLive
    }
}

/// A user's resolver. A class, because closures cannot be compared: two configurations with resolvers are equal if they
/// are copies of each other.
package final class DNSResolver: Sendable, Hashable {
    package typealias Resolve = @Sendable (_ host: String, _ port: Int) async throws -> DNSAnswer

    package let resolve: Resolve
    /// A text that no other resolver has, in any process.
    package let identity = UUID().uuidString

    package init(_ resolve: @escaping Resolve) { self.resolve = resolve }

    package static func == (one: DNSResolver, other: DNSResolver) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension DNSAnswer {
    private static let mostAddresses = 64

    /// The addresses to connect to, without brackets and duplicates. Throws if one of them is malformed, or if none of
    /// them has a permitted version.
    package func usableAddresses(of version: DNSConfiguration.IPVersion) throws(CurlewError) -> [String] {
        var usable: [String] = []
        for text in addresses.prefix(Self.mostAddresses) {
            let address = Hostname.withoutBrackets(text)
            guard let parsed = IPAddress(address, allowsZone: false) else {
                throw .unresolved("the resolver returned \"\(text.prefix(100))\", which is no IP address")
            }
            if version.permits(parsed), !usable.contains(address) { usable.append(address) }
        }
        // libcurl would ignore an entry without a permitted address, and ask the system.
        guard usable.isEmpty else { return usable }
        switch version {
        case .any: throw .unresolved("the resolver returned no address")
        case .v4: throw .unresolved("the resolver returned no IPv4 address")
        case .v6: throw .unresolved("the resolver returned no IPv6 address")
        }
    }
}

extension DNSConfiguration.IPVersion {
    fileprivate func permits(_ address: IPAddress) -> Bool {
        switch (self, address) {
        case (.any, _), (.v4, .v4), (.v6, .v6): true
        case (.v4, .v6), (.v6, .v4): false
        }
    }
}

extension CurlewError {
    /// The user's resolver has given no usable answer; `underlying` is the error that it has thrown.
    package static func unresolved(_ reason: String, _ underlying: (any Error)? = nil) -> CurlewError {
        CurlewError(.resolveFailed, phase: .resolve, reason: reason, underlying: underlying)
    }
}
