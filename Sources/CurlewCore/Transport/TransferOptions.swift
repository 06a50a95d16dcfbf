/// The options of one exchange, which may differ from those of its session.
public struct TransferOptions: Sendable {
    private struct Values {
        var timeouts: Timeouts
        var maximumBodySize: Int?
        var purpose: TransferPurpose = .memory
        var decodesContent: Bool = true
        var authentication: TransferAuthentication?
        var proxy: Proxy?
        var expectContinue: ExpectContinue = .automatic
        var uploadRateLimit: Int?
        var downloadRateLimit: Int?
        var multiplexes: Bool = true
        var hasDeadlineField: Bool = false
        var trafficClass: TrafficClass = .normal
        var priority: RequestPriority = .normal
        var cache: CacheOverrides?
        var resilience: RequestResilience?
    }

    private var shared: CopyOnWrite<Values>

    /// Creates options.
    public init(timeouts: Timeouts = Timeouts(), maximumBodySize: Int? = nil) {
        shared = CopyOnWrite(Values(timeouts: timeouts, maximumBodySize: maximumBodySize))
    }

    @usableFromInline
    static let unchanged = TransferOptions()

    /// Whether `authentication` is set, without copying it.
    package var hasAuthentication: Bool { if case .some = shared.values.authentication { true } else { false } }

    private var values: Values {
        _read { yield shared.values }
        _modify { yield &shared.values }
    }

    /// The five timeouts.
    public var timeouts: Timeouts {
        get { values.timeouts }
        _modify { yield &values.timeouts }
    }
    /// The maximum size of the decoded body in bytes; `nil` sets no limit, as for bodies that do not stay in memory.
    public var maximumBodySize: Int? {
        get { values.maximumBodySize }
        _modify { yield &values.maximumBodySize }
    }
    /// The use of the response body, which determines the size of the receive buffer.
    public var purpose: TransferPurpose {
        get { values.purpose }
        _modify { yield &values.purpose }
    }
    /// Whether Content-Encoding is decoded. False for resumed downloads and for `Accept-Encoding: identity`.
    public var decodesContent: Bool {
        get { values.decodesContent }
        _modify { yield &values.decodesContent }
    }
    /// Whether the session has added the field that tells the remaining time to the server, so that a second copy of the
    /// request has to tell its own.
    package var hasDeadlineField: Bool {
        get { values.hasDeadlineField }
        _modify { yield &values.hasDeadlineField }
    }
    /// The credentials with which to answer a challenge.
    public var authentication: TransferAuthentication? {
        get { values.authentication }
        _modify { yield &values.authentication }
    }
    /// The proxy of this request; `nil` uses the session's.
    public var proxy: Proxy? {
        get { values.proxy }
        _modify { yield &values.proxy }
    }
    /// Whether to ask the server before sending a body.
    public var expectContinue: ExpectContinue {
        get { values.expectContinue }
        _modify { yield &values.expectContinue }
    }
    /// The maximum speed of the upload in bytes per second; `nil` is the session's.
    public var uploadRateLimit: Int? {
        get { values.uploadRateLimit }
        _modify { yield &values.uploadRateLimit }
    }
    /// The maximum speed of the download in bytes per second; `nil` is the session's.
    public var downloadRateLimit: Int? {
        get { values.downloadRateLimit }
        _modify { yield &values.downloadRateLimit }
    }
    /// Whether the exchange may share a multiplexed connection, and wait for one that is being established.
    public var multiplexes: Bool {
        get { values.multiplexes }
        _modify { yield &values.multiplexes }
    }
    /// The traffic class. Any class but `normal` marks the socket, so the exchange does not share its connection.
    package var trafficClass: TrafficClass {
        get { values.trafficClass }
        _modify { yield &values.trafficClass }
    }
    /// The priority among the exchanges that wait for a connection to the same origin.
    public var priority: RequestPriority {
        get { values.priority }
        _modify { yield &values.priority }
    }
    /// The differences from the session's resilience; `nil` if there are none.
    package var resilience: RequestResilience? {
        get { values.resilience }
        _modify { yield &values.resilience }
    }
    /// The caching options; `nil` follows the rules of HTTP.
    package var cache: CacheOverrides? {
        get { values.cache }
        _modify { yield &values.cache }
    }
}

/// The use of a response body.
public enum TransferPurpose: Sendable, Hashable {
    /// The body is collected in memory.
    case memory
    /// The body is written to a file.
    case file
    /// The body is passed to a reader that determines the pace.
    case stream
}

/// The rule for sending `Expect: 100-continue` with a body. If the server does not react, the body is sent after one
/// second.
public enum ExpectContinue: Sendable, Hashable {
    /// The server is asked for bodies above 1 MiB. For a body of unknown length, it is asked only if the body
    /// cannot be sent again and the credentials wait for a challenge.
    case automatic
    /// The server is always asked.
    case always
    /// The server is never asked.
    case never
}

/// Credentials with which libcurl answers a server's challenge.
public struct TransferAuthentication: Sendable, Hashable {
    /// The authentication scheme.
    public enum Scheme: Sendable, Hashable {
        /// The strongest scheme that the server offers of Digest, Basic, NTLM and Negotiate.
        case any
        /// Basic, which sends the password readable for the server, and for eavesdroppers on an unencrypted connection.
        case basic
        /// Digest, which proves knowledge of the password.
        case digest
        /// NTLM.
        case ntlm
        /// Negotiate, usually with Kerberos.
        case negotiate
        /// A bearer token, given as the password.
        case bearer
        /// AWS Signature Version 4. `provider` has the form of CURLOPT_AWS_SIGV4(3), for instance
        /// `aws:amz:eu-central-1:s3`. `username` is the access key and `password` the secret key.
        case awsSigV4(provider: String)
    }

    /// The authentication scheme.
    public var scheme: Scheme
    /// The user name, or the access key.
    public var username: String
    /// The password, the bearer token or the secret key.
    public var password: String

    /// Creates credentials.
    public init(scheme: Scheme = .any, username: String, password: String) {
        self.scheme = scheme
        self.username = username
        self.password = password
    }
}

extension TransferAuthentication {
    /// Returns Basic credentials, which are sent without waiting for a challenge.
    public static func basic(username: String, password: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .basic, username: username, password: password)
    }

    /// Returns Digest credentials, which are sent after a challenge.
    public static func digest(username: String, password: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .digest, username: username, password: password)
    }

    /// Returns credentials with a bearer token.
    public static func bearer(token: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .bearer, username: "", password: token)
    }

    /// Returns credentials for AWS Signature Version 4, with `provider` as in `Scheme.awsSigV4(provider:)`.
    public static func awsSigV4(accessKey: String, secretKey: String, provider: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .awsSigV4(provider: provider), username: accessKey, password: secretKey)
    }
}

/// The five timeouts of a request. `nil` turns one off.
public struct Timeouts: Sendable, Hashable {
    /// The time from the start of name resolution to an established connection, including TLS.
    public var connect: Duration?
    /// The time from the end of the request to the end of the head of the response.
    public var firstByte: Duration?
    /// The maximum time between two bytes of a body, in either direction.
    public var idle: Duration?
    /// The time for the whole request, including retries and redirects.
    public var total: Duration?
    /// The maximum wait for a free connection.
    public var queue: Duration?

    /// Creates timeouts; `nil` turns one off.
    public init(
        connect: Duration? = .seconds(10),
        firstByte: Duration? = .seconds(60),
        idle: Duration? = .seconds(60),
        total: Duration? = nil,
        queue: Duration? = .seconds(60)
    ) {
        self.connect = connect
        self.firstByte = firstByte
        self.idle = idle
        self.total = total
        self.queue = queue
    }
}

/// The kind of an exchange's traffic, from which the network and the server derive its priority.
package enum TrafficClass: Sendable, Hashable {
    /// Traffic without special requirements.
    case normal
    /// Traffic for which no user is waiting.
    case background
    /// Video.
    case video
    /// Speech, which tolerates no delay.
    case voice
    /// The signalling of calls.
    case signalling

    /// The differentiated services code point of the packets (RFC 4594, 2.3).
    package var codePoint: UInt8 {
        switch self {
        case .normal: 0
        case .background: 8  // CS1
        case .video: 34  // AF41
        case .voice: 46  // EF
        case .signalling: 40  // CS5
        }
    }

    /// The value of a `Priority` field (RFC 9218); `nil` is the server's default, urgency 3.
    package var priority: String? {
        switch self {
        case .normal: nil
        case .background: "u=6"
        case .video: "u=2, i"
        case .voice, .signalling: "u=1"
        }
    }
}
