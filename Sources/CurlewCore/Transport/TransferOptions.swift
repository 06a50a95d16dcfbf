/// What one exchange may differ in from its session.
// One reference: nearly all requests of a session have the same, which is then copied and compared at the cost of one.
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
        var trafficClass: TrafficClass = .normal
        var mayBeResentSilently: Bool?
        var cache: CacheWishes?
    }

    private var shared: CopyOnWrite<Values>

    /// Creates options.
    public init(timeouts: Timeouts = Timeouts(), maximumBodySize: Int? = nil) {
        shared = CopyOnWrite(Values(timeouts: timeouts, maximumBodySize: maximumBodySize))
    }

    @usableFromInline
    static let unchanged = TransferOptions()

    /// Whether both are one value's copies, neither of which was changed.
    package func isCopy(of other: TransferOptions) -> Bool { shared.isCopy(of: other.shared) }

    /// The question alone, without a copy.
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
    /// Most bytes of body after content decoding; nil where they do not stay in memory (file, stream).
    public var maximumBodySize: Int? {
        get { values.maximumBodySize }
        _modify { yield &values.maximumBodySize }
    }
    /// What the bytes are for; it sizes the receive buffer.
    public var purpose: TransferPurpose {
        get { values.purpose }
        _modify { yield &values.purpose }
    }
    /// Whether Content-Encoding is undone. Off for resumed downloads and for `Accept-Encoding: identity`.
    public var decodesContent: Bool {
        get { values.decodesContent }
        _modify { yield &values.decodesContent }
    }
    /// The credentials with which to answer a challenge.
    public var authentication: TransferAuthentication? {
        get { values.authentication }
        _modify { yield &values.authentication }
    }
    /// The proxy to use instead of the session's.
    public var proxy: Proxy? {
        get { values.proxy }
        _modify { yield &values.proxy }
    }
    /// Whether the server is asked before a body is sent.
    public var expectContinue: ExpectContinue {
        get { values.expectContinue }
        _modify { yield &values.expectContinue }
    }
    /// The maximum speed of the upload in bytes per second; nil stands for the session's.
    public var uploadRateLimit: Int? {
        get { values.uploadRateLimit }
        _modify { yield &values.uploadRateLimit }
    }
    /// At most so many bytes a second; nil is no limit.
    public var downloadRateLimit: Int? {
        get { values.downloadRateLimit }
        _modify { yield &values.downloadRateLimit }
    }
    /// Whether the exchange may share a multiplexed connection, and wait for one that is being set up.
    public var multiplexes: Bool {
        get { values.multiplexes }
        _modify { yield &values.multiplexes }
    }
    /// How the network should treat it. Anything but `normal` has a connection of its own.
    package var trafficClass: TrafficClass {
        get { values.trafficClass }
        _modify { yield &values.trafficClass }
    }
    /// Whether libcurl may send it again on a new connection when a re-used one turns out dead:
    /// nil decides by method and body.
    package var mayBeResentSilently: Bool? {
        get { values.mayBeResentSilently }
        _modify { yield &values.mayBeResentSilently }
    }
    /// How it uses the session's cache; nil is as HTTP says.
    package var cache: CacheWishes? {
        get { values.cache }
        _modify { yield &values.cache }
    }
}

/// What a response body is for.
public enum TransferPurpose: Sendable, Hashable {
    /// Into memory.
    case memory
    /// Into a file.
    case file
    /// Into a reader that takes what it wants.
    case stream
}

/// When `Expect: 100-continue` is sent with a body. A server that says nothing gets the body after one second.
public enum ExpectContinue: Sendable, Hashable {
    /// For bodies of more than 1 MiB. If the length is unknown, only for a body that can be sent once and credentials that
    /// wait for a challenge.
    case automatic
    /// The server is always asked.
    case always
    /// The server is never asked.
    case never
}

/// Credentials that libcurl answers a server's challenge with.
public struct TransferAuthentication: Sendable, Hashable {
    /// How to answer a challenge.
    public enum Scheme: Sendable, Hashable {
        /// The strongest that the server offers of Digest, Basic, NTLM, Negotiate.
        case any
        /// Basic: the password, readable for the server and for eavesdroppers.
        case basic
        /// Digest: a proof of the password.
        case digest
        /// NTLM.
        case ntlm
        /// Negotiate: Kerberos.
        case negotiate
        /// A bearer token, which is the password.
        case bearer
        /// AWS Signature Version 4. `provider` has the form of CURLOPT_AWS_SIGV4(3), for instance
        /// `aws:amz:eu-central-1:s3`; the user's name is the access key, the password the secret one.
        case awsSigV4(provider: String)
    }

    /// The authentication scheme.
    public var scheme: Scheme
    /// The user's name.
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
    /// A name and a password, sent without waiting for a challenge.
    public static func basic(username: String, password: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .basic, username: username, password: password)
    }

    /// A name and a proof of the password, which the server asks for first.
    public static func digest(username: String, password: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .digest, username: username, password: password)
    }

    /// A bearer token.
    public static func bearer(token: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .bearer, username: "", password: token)
    }

    /// AWS Signature Version 4; `provider` as in `Scheme.awsSigV4(provider:)`.
    public static func awsSigV4(accessKey: String, secretKey: String, provider: String) -> TransferAuthentication {
        TransferAuthentication(scheme: .awsSigV4(provider: provider), username: accessKey, password: secretKey)
    }
}
