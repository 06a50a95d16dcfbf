public import Foundation

/// What a transport is made with: everything that concerns connections, and that two requests that share
/// a connection must agree on.
public struct TransportConfiguration: Sendable {
    /// Which versions of HTTP are used.
    public var httpVersion: HTTPVersionPolicy = .automatic
    /// Content codings to offer and undo, by name (`gzip`, `br`); nil is all that the transport has.
    public var acceptedEncodings: [String]?
    /// Whether `Accept: */*` is added to requests that have no `Accept` field.
    public var addsAccept = true
    /// Whether the segments `.` and `..` stay in the path of a URL.
    public var keepsDotSegments = false
    /// The maximum number of connections to one host. Requests that have a connection of their own, because it is
    /// authenticated for one user, have as many again.
    public var maximumConnectionsPerHost = 6
    /// The maximum number of connections to all hosts together.
    public var maximumConnections = 256
    /// How long an idle connection is kept for the next request.
    public var connectionIdleLifetime: Duration = .seconds(118)
    /// The probes that find out whether the peer of a silent connection has vanished; `nil` sends none.
    public var keepAlive: KeepAlive? = KeepAlive()
    /// The maximum size of all header lines of a response, in bytes.
    public var maximumHeaderSize = 256 * 1024
    /// The settings of TLS.
    public var tls = TLSConfiguration()
    /// The proxy to use.
    public var proxy: Proxy = .environment
    /// How host names are resolved.
    public var dns = DNSConfiguration()
    /// The local address to connect from.
    public var localAddress: String?
    /// The network interface to connect from.
    public var interface: String?
    /// A Unix socket to connect to, whatever the URL's host is.
    public var unixSocketPath: String?
    /// Whether `.netrc` is read for credentials.
    public var netrc: Netrc = .ignored
    /// Which addresses may be connected to.
    public var addressPolicy: AddressPolicy = .any
    /// The maximum speed of an upload, in bytes per second.
    public var uploadRateLimit: Int?
    /// The maximum speed of a download, in bytes per second.
    public var downloadRateLimit: Int?
    /// Asked before the first byte of a request goes over a TLS connection; nil is libcurl's verdict alone.
    package var trustEvaluation: (any TrustEvaluation)?
    /// Whether `trustEvaluation` is asked instead of libcurl about servers, so that it may accept chains that no
    /// root leads to; otherwise it is asked after libcurl. About HTTPS proxies libcurl decides in either case.
    package var trustEvaluationReplacesVerification = false
    /// Whether HTTP/3 is used where the running libcurl has it by a library that gets some things wrong: OpenSSL's own QUIC
    /// puts trailers into bodies, and breaks uploads that are answered early.
    public var allowsExperimentalHTTP3 = false
    /// What servers have announced, for `automatic`; nil uses nothing of it.
    package var alternativeServices: (any AlternativeServices)?

    /// Creates the default configuration.
    public init() {}
}

/// Which versions of HTTP are used.
public enum HTTPVersionPolicy: Sendable, Hashable {
    /// HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise; HTTP/3 where the server has announced it and the running libcurl
    /// has it.
    case automatic
    /// HTTP/1.1 only.
    case http1_1
    /// HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise.
    case http2
    /// HTTP/2 from the first byte, also without TLS.
    case http2PriorKnowledge
    /// HTTP/3 and nothing else; `.unsupported` where the running libcurl has not got it, or cannot do over QUIC what else is
    /// configured.
    case http3
}

/// The proxy that requests go through.
public enum Proxy: Sendable, Hashable {
    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as curl reads them.
    case environment
    /// Connect directly, whatever the environment says.
    case none
    /// `http`, `https`, `socks4`, `socks4a`, `socks5`, `socks5h` URLs. `exclusions` follow NO_PROXY's rules.
    case url(URL, username: String? = nil, password: String? = nil, exclusions: [String] = [])
}

/// Where credentials may be read from.
public enum Netrc: Sendable, Hashable {
    /// No netrc file is read.
    case ignored
    /// `~/.netrc`, unless the URL has credentials.
    case optional
    /// This file is read.
    case file(URL)
}

/// Which addresses may be connected to.
public enum AddressPolicy: Sendable, Hashable {
    /// Every address.
    case any
    /// Refuses private, loopback, link-local and other special addresses after name resolution.
    case publicOnly
    /// As `publicOnly`, but requests may go through these proxies, which then judge the addresses behind them.
    /// Hosts that are reached without a proxy are judged here.
    case publicOnlyBehind(proxies: [URL])
}

/// How host names are resolved.
public struct DNSConfiguration: Sendable, Hashable {
    /// `host` or `host:port` → addresses, instead of asking a resolver.
    public var overrides: [String: [String]] = [:]
    /// The URL of a DNS-over-HTTPS server to ask.
    ///
    /// libcurl connects to it by itself, without the configured `proxy`, and always verifies its certificate: chain and name, against the
    /// trusted roots and the revocation list. Where certificates are not verified at all, the roots are the system's. Server trust
    /// evaluators are not asked about it; pins, the client identity and the address policy do not count for it. A server that
    /// fails to be verified is `.resolveFailed`.
    public var dohURL: URL?
    /// The addresses of name servers to ask. They need a libcurl built with c-ares.
    public var servers: [String] = []
    /// How long a resolved name is cached.
    public var cacheLifetime: Duration = .seconds(60)
    /// Whether IPv4, IPv6 or both are used.
    public var ipVersion: IPVersion = .any
    /// How long IPv6 has before IPv4 is tried too; nil is libcurl's 200 ms.
    public var happyEyeballsDelay: Duration?

    /// The kind of an address.
    public enum IPVersion: Sendable, Hashable {
        /// Both, whichever answers first.
        case any
        /// IPv4 only.
        case v4
        /// IPv6 only.
        case v6
    }

    /// Creates a configuration.
    public init(overrides: [String: [String]] = [:]) { self.overrides = overrides }
}
