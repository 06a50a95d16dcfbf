public import CurlewCore
public import Dispatch
public import Foundation

/// What the requests of a session have in common. Every limit is finite unless you lift it.
///
///     let session = Session(configuration: SessionConfiguration {
///         $0.timeouts.total = .seconds(30)
///         $0.maximumConnectionsPerHost = 16
///     })
public struct SessionConfiguration: Sendable {
    /// The defaults, made anew each time: two sessions share what they remember of hosts only if they are told to.
    public static var `default`: SessionConfiguration { SessionConfiguration() }

    /// A name for logs and monitors.
    public var identifier: String?

    // MARK: Requests

    /// Fields that every request carries unless it has its own of that name.
    public var headers: HTTPHeaders = .default
    /// Fields that can change while the session runs, in front of `headers`.
    public var runtimeHeaders: RuntimeHeaders?
    /// The five clocks; a request may change its own.
    public var timeouts = Timeouts()
    /// Most bytes of a body in memory, after decoding; a request may change its own.
    public var maximumBodySize = 128 * 1024 * 1024
    /// How far redirects are followed, and what goes along.
    public var redirects = RedirectPolicy()
    /// Cookies that are sent and kept. None by default: a server must not share cookies between its users by accident.
    public var cookies: CookieJar?
    /// Responses that are kept and served again. None by default: what is served has to be meant for all requests of the
    /// session.
    public var cache: ResponseCache?
    /// Which hosts have asked for https only; nil forgets what they ask.
    public var hsts: HSTSStore? = HSTSStore()
    /// Credentials by origin, in lower case, for requests that have none of their own. They go to that origin alone,
    /// whatever it redirects to.
    ///
    /// A key is an origin (`https://api.example.com`, `http://localhost:8080`), a host alone, which means https on its own
    /// port, or `host:port`, whatever is spoken there.
    public var credentials: [String: TransferAuthentication] = [:]
    /// Where credentials may be read from beside that.
    public var netrc: Netrc = .ignored

    /// How WebSockets behave; each may change its own.
    public var webSocket = WebSocketOptions()

    // MARK: Handlers

    /// Where response handlers are called that name no queue of their own; nil is the main queue.
    public var completionQueue: DispatchQueue?
    /// Left when a response handler has returned, entered when it was added: `notify` and `wait` of the group tell
    /// when every handler so far has been called.
    public var completionGroup: DispatchGroup?
    /// Decides at certain points of every request.
    public var hooks: SessionHooks?
    /// Keeps on disk what is needed to go on with downloads that this process does not finish.
    public var downloadJournal: DownloadJournal?

    // MARK: Connections

    /// Most connections to one host.
    public var maximumConnectionsPerHost = 6
    /// Most connections in all.
    public var maximumConnections = 256
    /// How long an idle connection is kept for the next request.
    public var connectionIdleLifetime: Duration = .seconds(118)
    /// Which versions of HTTP are spoken.
    public var httpVersion: HTTPVersionPolicy = .automatic
    /// Which servers have announced HTTP/3, for `httpVersion = .automatic`; nil forgets what they announce.
    public var alternativeServices: AlternativeServiceStore? = AlternativeServiceStore()
    /// Whether HTTP/3 is used where the running libcurl has it by OpenSSL's own QUIC, which puts trailers into bodies and breaks
    /// uploads that are answered early. Elsewhere it says nothing.
    public var allowsExperimentalHTTP3 = false
    /// Content codings to offer and undo, by name (`gzip`, `br`); nil is all that the transport has.
    public var acceptedEncodings: [String]?
    /// Most bytes of all header lines of one response.
    public var maximumHeaderSize = 256 * 1024
    /// How requests reach the outside.
    public var proxy: Proxy = .environment
    /// Decides the proxy of each URL instead of `proxy`. nil and `.none` both mean a direct connection: in a
    /// closure that returns an optional, `.none` is nil, and must not mean anything else than it says.
    public var proxyRouting: (@Sendable (URL) -> Proxy?)?
    /// How connections are secured.
    public var tls = TLSConfiguration()
    /// How names are resolved.
    public var dns = DNSConfiguration()
    /// The local address to connect from.
    public var localAddress: String?
    /// The network interface to connect from.
    public var interface: String?
    /// A Unix socket to connect to, whatever the URL's host.
    public var unixSocketPath: String?
    /// Bytes per second of one upload.
    public var uploadRateLimit: Int?
    /// Bytes per second of one download.
    public var downloadRateLimit: Int?
    /// Which addresses may be connected to.
    public var addressPolicy: AddressPolicy = .any

    /// The defaults.
    public init() {}

    /// The defaults with changes.
    public init(_ change: (inout SessionConfiguration) throws -> Void) rethrows {
        self.init()
        try change(&self)
    }

    /// The credentials for a URL's origin.
    func authentication(for url: URL) -> TransferAuthentication? {
        guard !credentials.isEmpty, let host = url.host()?.lowercased(), let scheme = url.scheme?.lowercased() else {
            return nil
        }
        let usual = scheme == "https" ? 443 : 80
        let port = url.port ?? usual
        if let own = credentials["\(scheme)://\(host):\(port)"] { return own }
        if port == usual, let own = credentials["\(scheme)://\(host)"] { return own }
        if let own = credentials["\(host):\(port)"] { return own }
        return scheme == "https" && port == usual ? credentials[host] : nil
    }

    /// What a transport has to know of it.
    var transport: TransportConfiguration {
        var transport = TransportConfiguration()
        transport.httpVersion = httpVersion
        transport.alternativeServices = alternativeServices
        transport.allowsExperimentalHTTP3 = allowsExperimentalHTTP3
        transport.acceptedEncodings = acceptedEncodings
        transport.maximumConnectionsPerHost = maximumConnectionsPerHost
        transport.maximumConnections = maximumConnections
        transport.connectionIdleLifetime = connectionIdleLifetime
        transport.maximumHeaderSize = maximumHeaderSize
        transport.tls = tls
        transport.proxy = proxy
        transport.dns = dns
        transport.localAddress = localAddress
        transport.interface = interface
        transport.unixSocketPath = unixSocketPath
        transport.netrc = netrc
        transport.addressPolicy = addressPolicy
        transport.uploadRateLimit = uploadRateLimit
        transport.downloadRateLimit = downloadRateLimit
        return transport
    }
}
