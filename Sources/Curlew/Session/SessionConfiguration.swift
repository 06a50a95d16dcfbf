public import CurlewCore
public import Dispatch
public import Foundation
package import FoundationNetworking

/// The settings that the requests of a session share. Limits are finite by default, except optional ones such as
/// `timeouts.total`, `maximumConnectionAge` and `maximumRequestsPerConnection`, which are off.
///
///     let session = Session(configuration: SessionConfiguration {
///         $0.timeouts.total = .seconds(30)
///         $0.maximumConnectionsPerHost = 16
///     })
public struct SessionConfiguration: Sendable {
    /// A new copy of the defaults. Sessions share their knowledge of hosts only if you give them the same stores.
    public static var `default`: SessionConfiguration { SessionConfiguration() }

    /// A name for logs and monitors.
    public var identifier: String?

    // MARK: Requests

    /// The URL that relative URLs are resolved against, by RFC 3986, as if its path ended with a slash. Absolute URLs
    /// ignore it.
    ///
    /// With `https://api.example.com/v1`, `users?page=2` means `https://api.example.com/v1/users?page=2`, and `/users`
    /// means `https://api.example.com/users`. The query of the base URL is not sent. If the base URL has no host, or
    /// another scheme than `http`, `https`, `ws` or `wss`, requests with a relative URL fail with `.invalidURL`. With
    /// `ws` or `wss` only WebSockets can be relative; `http` and `https` serve all kinds.
    public var baseURL: URL?
    /// Several servers instead of a `baseURL`, over which they take precedence: one is chosen for each attempt of a
    /// request with a relative URL. If the group cannot be used, such requests fail with `.invalidURL`.
    public var endpoints: EndpointGroup?
    /// Header fields of every request. A request's own field of the same name takes precedence.
    public var headers: HTTPHeaders = .default
    /// Whether `Accept: */*` is added to requests without an `Accept` field. An empty field in `headers` would be sent
    /// as `Accept:`, which differs from no field.
    package var addsAccept = true
    /// Header fields that can change while the session is in use. They take precedence over `headers`.
    package var changingHeaders: (any ChangingHeaders)?
    /// The five timeouts. `Request.timeouts(_:)` changes them for one request.
    public var timeouts = Timeouts()
    /// The maximum size of a body in memory, in bytes after decompression. `Request.maximumBodySize(_:)` changes it for
    /// one request.
    public var maximumBodySize = 128 * 1024 * 1024
    /// The rules for following redirects, and for the header fields that are sent along.
    public var redirects = RedirectPolicy()
    /// Whether the path segments `.` and `..` of a request's URL are sent unchanged, for instance to test a server. By
    /// default they are resolved before adapters, cookies and the cache see the URL. Those of a redirect's `Location`,
    /// and those of a URL that is relative to `baseURL`, are always resolved.
    package var keepsDotSegments = false
    /// The cookie jar. There is none by default: a server must not share cookies between its users by accident.
    public var cookies: CookieJar?
    /// The response cache. There is none by default: a stored response must be meant for every request of the session.
    public var cache: ResponseCache?
    /// Remembers hosts that require https (HSTS). With `nil`, HSTS is ignored.
    public var hsts: HSTSStore? = HSTSStore()
    /// Credentials by origin, in lower case, for requests that bring none. They are sent to that origin only, and never
    /// to the target of a redirect to another one.
    ///
    /// A key is an origin (`https://api.example.com`, `http://localhost:8080`), a host (which means https on port 443),
    /// or `host:port` (for any scheme).
    public var credentials: [String: TransferAuthentication] = [:]
    /// The netrc file to read further credentials from.
    public var netrc: Netrc = .ignored

    /// The adapters of every request on the wire, in the order in which they change it. `Request.exchangeAdapter(_:)` adds
    /// one for one request.
    public var exchangeAdapters: [any ExchangeAdapter] = []
    /// The middleware around every exchange, the outermost first. `Request.middleware(_:)` adds one inside of these.
    public var middleware: [any RequestMiddleware] = []

    /// Limits, a circuit breaker and a retry budget. By default there are none.
    public var resilience = Resilience()

    /// The default options of WebSockets. Each WebSocket can change its options.
    public var webSocket = WebSocketOptions()

    // MARK: Handlers

    /// The queue for response handlers that name no queue. `nil` means the main queue.
    public var completionQueue: DispatchQueue?
    /// A group that is entered when a response handler is added and left when it has returned.
    package var handlerGroup: DispatchGroup?
    /// Decisions for every request, made by another module of this package.
    package var decisions: (any SessionDecisions)?
    /// Called with each data request, upload and download when the session has created it; the hook may begin its run.
    /// Streams and WebSockets have no reader yet, so their run must not begin. Set by another module of this package.
    package var requestWasCreated: (@Sendable (Request) -> Void)?
    /// Stores unfinished downloads on disk, so that another process can continue them.
    public var downloadJournal: DownloadJournal?

    // MARK: Connections

    /// The maximum number of connections to one host.
    public var maximumConnectionsPerHost = 6
    /// The maximum number of connections to all hosts together.
    public var maximumConnections = 256
    /// The time that an idle connection is kept for the next request.
    public var connectionIdleLifetime: Duration = .seconds(118)
    /// The age from which a connection takes no further requests. Those that run on it finish. `nil` sets no limit.
    ///
    /// Use it for servers behind a load balancer that distributes connections. With HTTP/2, retired connections do not
    /// count towards `maximumConnectionsPerHost`. Requests fail with `.unsupported` if libcurl is older than 7.80.
    public var maximumConnectionAge: Duration?
    /// The number of requests after which a connection takes no further ones. Those that run on it finish. `nil` sets no
    /// limit.
    ///
    /// With HTTP/2, retired connections do not count towards `maximumConnectionsPerHost`. Requests fail with
    /// `.unsupported` if libcurl is older than 7.80.
    public var maximumRequestsPerConnection: Int?
    /// The probes that detect whether the peer of a silent connection has vanished. `nil` sends none.
    public var keepAlive: KeepAlive? = KeepAlive()
    /// The time between two PINGs on an HTTP/2 connection with running requests, at least one second. `nil` sends none.
    ///
    /// PINGs keep proxies from closing a silent connection. Their acknowledgement is not awaited. Requests fail with
    /// `.unsupported` if libcurl is older than 8.10.
    public var http2PingInterval: Duration?
    /// The versions of HTTP to use.
    public var httpVersion: HTTPVersionPolicy = .automatic
    /// Remembers servers that have announced HTTP/3, for `httpVersion = .automatic`. With `nil`, announcements are
    /// ignored.
    public var alternativeServices: AlternativeServiceStore? = AlternativeServiceStore()
    /// Whether to use HTTP/3 over OpenSSL's QUIC, which adds trailers to bodies and breaks uploads that are answered
    /// early. It has no effect with other QUIC libraries.
    public var allowsExperimentalHTTP3 = false
    /// The content codings to accept, by name (`gzip`, `br`). `nil` means all that the transport supports.
    public var acceptedEncodings: [String]?
    /// The maximum size of all header lines of a response, in bytes.
    public var maximumHeaderSize = 256 * 1024
    /// The proxy to use.
    public var proxy: Proxy = .environment
    /// Chooses the proxy for each URL, instead of `proxy`. Both `nil` and `.none` mean a direct connection.
    public var proxyRouting: (@Sendable (URL) -> Proxy?)?
    /// The settings of TLS.
    public var tls = TLSConfiguration()
    /// The resolution of host names.
    public var dns = DNSConfiguration()
    /// The local address to connect from.
    public var localAddress: String?
    /// The network interface to connect from.
    public var interface: String?
    /// The Unix domain socket to connect to, regardless of the URL's host.
    public var unixSocketPath: String?
    /// The maximum speed of an upload, in bytes per second.
    public var uploadRateLimit: Int?
    /// The maximum speed of a download, in bytes per second.
    public var downloadRateLimit: Int?
    /// The addresses that connections may be made to.
    public var addressPolicy: AddressPolicy = .any

    /// Creates a configuration with the defaults.
    public init() {}

    /// Creates a configuration with the defaults and changes it.
    public init(_ change: (inout SessionConfiguration) throws -> Void) rethrows {
        self.init()
        try change(&self)
    }

    /// The settings that concern the transport.
    var transport: TransportConfiguration {
        var transport = TransportConfiguration()
        transport.httpVersion = httpVersion
        transport.alternativeServices = alternativeServices
        transport.allowsExperimentalHTTP3 = allowsExperimentalHTTP3
        transport.acceptedEncodings = acceptedEncodings
        transport.addsAccept = addsAccept
        transport.keepsDotSegments = keepsDotSegments
        transport.maximumConnectionsPerHost = maximumConnectionsPerHost
        transport.maximumConnections = maximumConnections
        transport.connectionIdleLifetime = connectionIdleLifetime
        transport.maximumConnectionAge = maximumConnectionAge
        transport.maximumRequestsPerConnection = maximumRequestsPerConnection
        transport.keepAlive = keepAlive
        transport.http2PingInterval = http2PingInterval
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

extension SessionConfiguration {
    /// Returns the fields of every request. A default `Accept-Encoding` is replaced by the codings in
    /// `acceptedEncodings`, or else by those that the transport supports.
    func fields(transportUndoes codings: [String]) -> HTTPHeaders {
        guard headers.value(for: "Accept-Encoding") == HTTPHeader.usualAcceptEncoding.value else { return headers }
        var fields = headers
        let offer = acceptedEncodings?.joined(separator: ", ") ?? Self.preferred(codings).qualityEncoded()
        if offer.isEmpty {
            fields.remove(name: "Accept-Encoding")
        } else {
            fields.add(name: "Accept-Encoding", value: offer)
        }
        return fields
    }

    /// Returns the codings in the order of Alamofire's field, followed by those that it does not have.
    private static func preferred(_ codings: [String]) -> [String] {
        let first = ["br", "gzip", "deflate"]
        return first.filter(codings.contains) + codings.filter { !first.contains($0) }
    }
}

// Used by other modules of this package: `CurlewAFNetworking` implements its hooks and its runtime headers with them.

/// Decisions for every request of a session. A property that is `nil` decides nothing.
package protocol SessionDecisions: Sendable {
    /// Called when the session was invalidated or released.
    var sessionDidBecomeInvalid: (@Sendable (SessionReference) -> Void)? { get }

    /// Returns another body if one that can be read only once has to be sent again.
    var newBodyStream: (@Sendable (Request) async -> BodySource?)? { get }

    /// Decides about redirects, if neither the session nor the request has a handler.
    var redirectHandler: (any RedirectHandler)? { get }

    /// Decides what to do with a response when its head has arrived.
    var responseDisposition: (@Sendable (Request, HTTPURLResponse) async -> Request.ResponseDisposition)? { get }

    /// Called when the body of a data request begins to be written to a file.
    var didBecomeDownload: (@Sendable (DataRequest, URL) -> Void)? { get }

    /// Returns the destination of a download, or `nil` to use the request's own.
    var downloadDestination:
        (
            @Sendable (Request, URL, HTTPURLResponse) -> (destinationURL: URL, options: DownloadRequest.Options)?
        )?
    { get }

    /// Returns the credentials to send a challenged request again with, or `nil` to deliver the response. A failure
    /// ends the request. The last parameter is the number of credentials that the server did not accept.
    var credentials:
        (
            @Sendable (Request, HTTPURLResponse, [AuthenticationChallenge], Int) async
                -> Result<TransferAuthentication?, any Error>
        )?
    { get }
}

/// Header fields that may change between two requests of a session.
package protocol ChangingHeaders: Sendable {
    /// The only origin that gets the fields. `nil` means every origin.
    var origin: URL? { get }

    /// Returns the session's own fields, with these taking precedence.
    func over(_ base: DefaultHeaders, for url: URL) -> DefaultHeaders
}
