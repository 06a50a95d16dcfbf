public import Foundation

/// What a transport is made with: everything that concerns connections, and that two requests that share
/// a connection must agree on.
public struct TransportConfiguration: Sendable {
    public var httpVersion: HTTPVersionPolicy = .automatic
    /// Content codings to offer and undo, by name (`gzip`, `br`); nil is all that the transport has.
    public var acceptedEncodings: [String]?
    public var maximumConnectionsPerHost = 6
    public var maximumConnections = 256
    /// How long an idle connection is kept for the next request.
    public var connectionIdleLifetime: Duration = .seconds(118)
    /// Most bytes of all header lines of one response.
    public var maximumHeaderSize = 256 * 1024
    public var tls = TLSConfiguration()
    public var proxy: Proxy = .environment
    public var dns = DNSConfiguration()
    public var localAddress: String?
    public var interface: String?
    public var unixSocketPath: String?
    public var netrc: Netrc = .ignored
    public var addressPolicy: AddressPolicy = .any
    /// Bytes per second of one transfer.
    public var uploadRateLimit: Int?
    public var downloadRateLimit: Int?
    /// Asked before the first byte of a request goes over a TLS connection; nil is libcurl's verdict alone.
    public var trustEvaluation: (any TrustEvaluation)?
    /// Whether `trustEvaluation` is asked instead of libcurl about servers, so that it may accept chains that no
    /// root leads to; otherwise it is asked after libcurl. About HTTPS proxies libcurl decides in either case.
    public var trustEvaluationReplacesVerification = false

    public init() {}
}

public enum HTTPVersionPolicy: Sendable, Hashable {
    /// HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise.
    case automatic
    case http1_1
    /// As `automatic`; kept apart so that a reader sees the intent.
    case http2
    /// HTTP/2 from the first byte, also without TLS.
    case http2PriorKnowledge
    /// HTTP/3 with fall-back, where the running libcurl has it; `.unsupported` elsewhere.
    case http3
}

/// How requests reach the outside.
public enum Proxy: Sendable, Hashable {
    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as curl reads them.
    case environment
    case none
    /// `http`, `https`, `socks4`, `socks4a`, `socks5`, `socks5h` URLs. `exclusions` follow NO_PROXY's rules.
    case url(URL, username: String? = nil, password: String? = nil, exclusions: [String] = [])
}

/// Where credentials may be read from.
public enum Netrc: Sendable, Hashable {
    case ignored
    /// `~/.netrc`, unless the URL has credentials.
    case optional
    case file(URL)
}

/// Which addresses may be connected to.
public enum AddressPolicy: Sendable, Hashable {
    case any
    /// Refuses private, loopback, link-local and other special addresses after name resolution.
    case publicOnly
}

public struct DNSConfiguration: Sendable, Hashable {
    /// `host` or `host:port` → addresses, instead of asking a resolver.
    public var overrides: [String: [String]] = [:]
    /// A DNS-over-HTTPS server.
    public var dohURL: URL?
    /// Name servers, where libcurl was built with c-ares.
    public var servers: [String] = []
    public var cacheLifetime: Duration = .seconds(60)
    public var ipVersion: IPVersion = .any
    /// How long IPv6 has before IPv4 is tried too; nil is libcurl's 200 ms.
    public var happyEyeballsDelay: Duration?

    public enum IPVersion: Sendable, Hashable { case any, v4, v6 }

    public init(overrides: [String: [String]] = [:]) { self.overrides = overrides }
}
