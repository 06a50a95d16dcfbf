public import Foundation

/// What a transport is made with: everything that concerns connections, and that two requests that share
/// a connection must agree on.
public struct TransportConfiguration: Sendable {
    /// Which version of HTTP is spoken.
    public var httpVersion: HTTPVersionPolicy = .automatic
    /// Content codings to offer and undo, by name (`gzip`, `br`); nil is all that the transport has.
    public var acceptedEncodings: [String]?
    /// At most so many connections to one host.
    public var maximumConnectionsPerHost = 6
    /// At most so many connections altogether.
    public var maximumConnections = 256
    /// How long an idle connection is kept for the next request.
    public var connectionIdleLifetime: Duration = .seconds(118)
    /// Most bytes of all header lines of one response.
    public var maximumHeaderSize = 256 * 1024
    /// Trust, versions and certificates.
    public var tls = TLSConfiguration()
    /// Through which proxy.
    public var proxy: Proxy = .environment
    /// How names become addresses.
    public var dns = DNSConfiguration()
    /// The address from which to connect.
    public var localAddress: String?
    /// The network interface from which to connect.
    public var interface: String?
    /// A Unix socket to connect to, whatever the URL's host is.
    public var unixSocketPath: String?
    /// Whether `.netrc` is read for credentials.
    public var netrc: Netrc = .ignored
    /// Which addresses may be connected to.
    public var addressPolicy: AddressPolicy = .any
    /// Bytes per second of one transfer.
    public var uploadRateLimit: Int?
    /// At most so many bytes a second for each download; nil is no limit.
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

    /// Makes the default configuration.
    public init() {}
}

/// Which version of HTTP is spoken.
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

/// How requests reach the outside.
public enum Proxy: Sendable, Hashable {
    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as curl reads them.
    case environment
    /// None, whatever the environment says.
    case none
    /// `http`, `https`, `socks4`, `socks4a`, `socks5`, `socks5h` URLs. `exclusions` follow NO_PROXY's rules.
    case url(URL, username: String? = nil, password: String? = nil, exclusions: [String] = [])
}

/// Where credentials may be read from.
public enum Netrc: Sendable, Hashable {
    /// It is not read.
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

/// How names become addresses.
public struct DNSConfiguration: Sendable, Hashable {
    /// `host` or `host:port` → addresses, instead of asking a resolver.
    public var overrides: [String: [String]] = [:]
    /// A DNS-over-HTTPS server.
    public var dohURL: URL?
    /// Name servers, where libcurl was built with c-ares.
    public var servers: [String] = []
    /// How long an answer is remembered.
    public var cacheLifetime: Duration = .seconds(60)
    /// Which kind of addresses is used.
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

    /// Makes a configuration.
    public init(overrides: [String: [String]] = [:]) { self.overrides = overrides }
}
