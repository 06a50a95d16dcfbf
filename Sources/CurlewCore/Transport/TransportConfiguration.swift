public import Foundation

/// The settings of a transport: everything that concerns connections, and that two requests must agree on to share one.
public struct TransportConfiguration: Sendable {
    /// The versions of HTTP to use.
    public var httpVersion: HTTPVersionPolicy = .automatic
    /// The content codings to offer and decode, by name (`gzip`, `br`); `nil` is all that the transport supports.
    public var acceptedEncodings: [String]?
    /// Whether `Accept: */*` is added to requests without an `Accept` field.
    package var addsAccept = true
    /// Whether the segments `.` and `..` are kept in the path of a URL.
    package var keepsDotSegments = false
    /// The maximum number of connections to one host. Requests whose connection is authenticated for one user count
    /// separately, with the same maximum.
    public var maximumConnectionsPerHost = 6
    /// The maximum number of connections to all hosts together.
    public var maximumConnections = 256
    /// The time for which an idle connection is kept for further requests.
    public var connectionIdleLifetime: Duration = .seconds(118)
    /// The age from which a connection takes no further requests; `nil` sets no limit. Needs libcurl 7.80.
    public var maximumConnectionAge: Duration?
    /// The number of requests after which a connection takes no further ones; `nil` sets no limit. Needs libcurl 7.80.
    public var maximumRequestsPerConnection: Int?
    /// The probes that detect a vanished peer of a silent connection; `nil` sends none.
    public var keepAlive: KeepAlive? = KeepAlive()
    /// The time between two PINGs on an HTTP/2 connection with running requests; `nil` sends none. Needs libcurl 8.10.
    public var http2PingInterval: Duration?
    /// The maximum size of all header lines of a response, in bytes.
    public var maximumHeaderSize = 256 * 1024
    /// The TLS settings.
    public var tls = TLSConfiguration()
    /// The proxy to use.
    public var proxy: Proxy = .environment
    /// The settings of name resolution.
    public var dns = DNSConfiguration()
    /// The local address to connect from; `nil` if the system chooses.
    public var localAddress: String?
    /// The network interface to connect from; `nil` if the system chooses.
    public var interface: String?
    /// The Unix socket to connect to, whatever host the URL has; `nil` connects to the host.
    public var unixSocketPath: String?
    /// The netrc file from which credentials are read.
    public var netrc: Netrc = .ignored
    /// The addresses to which connections are allowed.
    public var addressPolicy: AddressPolicy = .any
    /// The maximum speed of an upload in bytes per second; `nil` sets no limit.
    public var uploadRateLimit: Int?
    /// The maximum speed of a download in bytes per second; `nil` sets no limit.
    public var downloadRateLimit: Int?
    /// Asked before the first byte of a request is sent over a TLS connection; `nil` leaves the decision to libcurl
    /// alone.
    package var trustEvaluation: (any TrustEvaluation)?
    /// Whether `trustEvaluation` replaces libcurl's verification of servers, so that it may accept chains without a
    /// trusted root. If not, it is asked after libcurl. In either case, libcurl alone decides about https proxies.
    package var trustEvaluationReplacesVerification = false
    /// Whether HTTP/3 is used even if the running libcurl relies on OpenSSL's QUIC, which delivers trailers as part of
    /// bodies and breaks uploads that are answered early.
    public var allowsExperimentalHTTP3 = false
    /// The alternatives that servers have announced, for `HTTPVersionPolicy.automatic`; `nil` uses none.
    package var alternativeServices: (any AlternativeServices)?

    /// Creates the default configuration.
    public init() {}
}

/// The versions of HTTP to use.
public enum HTTPVersionPolicy: Sendable, Hashable {
    /// HTTP/2 if TLS negotiates it, otherwise HTTP/1.1; HTTP/3 if the server has announced it and the running libcurl
    /// supports it.
    case automatic
    /// HTTP/1.1 only.
    case http1_1
    /// HTTP/2 if TLS negotiates it, otherwise HTTP/1.1.
    case http2
    /// HTTP/2 from the first byte, even without TLS.
    case http2PriorKnowledge
    /// Only HTTP/3. Requests fail with `.unsupported` if the running libcurl does not have it, or cannot combine QUIC
    /// with another setting.
    case http3
}

/// The proxy for requests.
public enum Proxy: Sendable, Hashable {
    /// The proxy that `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` name, by curl's rules.
    case environment
    /// No proxy, whatever the environment says.
    case none
    /// A URL with the scheme `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`. `exclusions` follow the rules
    /// of NO_PROXY.
    case url(URL, username: String? = nil, password: String? = nil, exclusions: [String] = [])
}

/// The netrc file from which credentials are read.
public enum Netrc: Sendable, Hashable {
    /// No netrc file is read.
    case ignored
    /// `~/.netrc` is read, unless the URL has credentials.
    case optional
    /// This file is read.
    case file(URL)
}

/// The addresses to which connections are allowed.
public enum AddressPolicy: Sendable, Hashable {
    /// Every address.
    case any
    /// Only public addresses. Private, loopback, link-local and other special addresses are refused after name
    /// resolution.
    case publicOnly
    /// Only public addresses, except that requests may use these proxies, which are then responsible for the addresses
    /// that they connect to. For hosts that are reached without a proxy, the addresses are checked here.
    case publicOnlyBehind(proxies: [URL])
}

/// The settings of TCP keep-alive, which detects that the peer of a silent connection has vanished.
///
/// After `idle` without a byte, the system sends a probe every `interval`. After `probes` unanswered probes it ends the
/// connection.
///
/// ```swift
/// let session = Session(configuration: SessionConfiguration { $0.keepAlive = KeepAlive(idle: .seconds(15)) })
/// ```
///
/// The system counts in whole seconds. While sent bytes are unacknowledged, it sends no probes: it sends the bytes
/// again, and gives up after `unacknowledgedTimeout`. The peer's system answers probes even if the server hangs. Timeouts
/// cover both cases.
public struct KeepAlive: Sendable, Hashable {
    /// The time without a byte before the first probe.
    public var idle: Duration
    /// The time between two probes.
    public var interval: Duration
    /// The number of unanswered probes in a row after which the connection ends.
    public var probes: Int
    /// The time for which sent bytes may stay unacknowledged before the connection ends. `nil` is the system's, about
    /// 15 minutes; for connections of HTTP/2 it is `idle` and `probes` times `interval` together.
    ///
    /// The system applies it to probes as well, instead of `probes`, and to bytes that wait because the peer reads
    /// nothing. So it should be longer than any pause of a slow reader.
    public var unacknowledgedTimeout: Duration?

    /// Creates settings. With the default values, a vanished peer is detected after two and a half minutes.
    public init(
        idle: Duration = .seconds(60),
        interval: Duration = .seconds(30),
        probes: Int = 3,
        unacknowledgedTimeout: Duration? = nil
    ) {
        self.idle = idle
        self.interval = interval
        self.probes = probes
        self.unacknowledgedTimeout = unacknowledgedTimeout
    }
}

/// Settings that protect requests and that only a transport can enforce.
public struct TransportGuards: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The restriction of addresses: `addressPolicy`.
    public static let addressPolicy = Self(rawValue: 1 << 0)
    /// The security settings of connections: `tls`.
    public static let tls = Self(rawValue: 1 << 1)
    /// The use of a proxy: `proxy`, both the configuration's and the one in a request's options.
    public static let proxy = Self(rawValue: 1 << 2)
    /// The evaluation of servers by `trustEvaluation`.
    public static let serverTrust = Self(rawValue: 1 << 3)
    /// The local end of connections, or the Unix socket: `localAddress`, `interface`, `unixSocketPath`.
    public static let localEndpoint = Self(rawValue: 1 << 4)
    /// All guards.
    public static let all: Self = [.addressPolicy, .tls, .proxy, .serverTrust, .localEndpoint]

    /// The names of the settings.
    package var names: [String] {
        let names: [(Self, String)] = [
            (.addressPolicy, "addressPolicy"), (.tls, "tls"), (.proxy, "proxy"),
            (.serverTrust, "serverTrustManager"), (.localEndpoint, "localAddress, interface or unixSocketPath"),
        ]
        return names.filter { contains($0.0) }.map(\.1)
    }
}

extension TransportConfiguration {
    /// The guards that are set, that is, that differ from the default. A direct connection is not a guard, because
    /// there is nothing about it that a transport could leave out.
    package var guards: TransportGuards {
        var equal = guards(equalTo: TransportConfiguration())
        if proxy == .none { equal.insert(.proxy) }
        return TransportGuards.all.subtracting(equal)
    }

    /// Returns the guards whose settings are equal in both configurations.
    package func guards(equalTo other: TransportConfiguration) -> TransportGuards {
        var equal: TransportGuards = []
        if addressPolicy == other.addressPolicy { equal.insert(.addressPolicy) }
        if tls == other.tls { equal.insert(.tls) }
        if proxy == other.proxy { equal.insert(.proxy) }
        if localAddress == other.localAddress, interface == other.interface, unixSocketPath == other.unixSocketPath {
            equal.insert(.localEndpoint)
        }
        if trustEvaluationReplacesVerification == other.trustEvaluationReplacesVerification,
            Self.areEqual(trustEvaluation, other.trustEvaluation)
        {
            equal.insert(.serverTrust)
        }
        return equal
    }

    private static func areEqual(_ one: (any TrustEvaluation)?, _ other: (any TrustEvaluation)?) -> Bool {
        func isEqual<Value: Equatable>(_ value: Value, _ other: any TrustEvaluation) -> Bool {
            other as? Value == value
        }
        guard let one, let other else { return one == nil && other == nil }
        return (one as? any Equatable).map { isEqual($0, other) } ?? false
    }
}
