/// What one exchange may differ in from its session.
public struct TransferOptions: Sendable {
    /// The five clocks.
    public var timeouts: Timeouts
    /// Most bytes of body after content decoding; nil where they do not stay in memory (file, stream).
    public var maximumBodySize: Int?
    /// What the bytes are for; it sizes the receive buffer.
    public var purpose: TransferPurpose = .memory
    /// Whether Content-Encoding is undone. Off for resumed downloads and for `Accept-Encoding: identity`.
    public var decodesContent = true
    /// The credentials with which to answer a challenge.
    public var authentication: TransferAuthentication?
    /// Instead of the session's proxy.
    public var proxy: Proxy?
    /// Whether the server is asked before a body is sent.
    public var expectContinue: ExpectContinue = .automatic
    /// Bytes per second; nil is the session's.
    public var uploadRateLimit: Int?
    /// At most so many bytes a second; nil is no limit.
    public var downloadRateLimit: Int?
    /// Whether the exchange may share a multiplexed connection, and wait for one that is being set up.
    public var multiplexes = true
    /// How the network should treat it. Anything but `normal` has a connection of its own.
    public var trafficClass: TrafficClass = .normal
    /// Whether libcurl may send it again on a new connection when a re-used one turns out dead:
    /// nil decides by method and body.
    public var mayBeResentSilently: Bool?

    /// Makes options.
    public init(timeouts: Timeouts = Timeouts(), maximumBodySize: Int? = nil) {
        self.timeouts = timeouts
        self.maximumBodySize = maximumBodySize
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

/// When `Expect: 100-continue` is sent with a body.
public enum ExpectContinue: Sendable, Hashable {
    /// For bodies above 1 MiB or of unknown length.
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
        /// Basic: the password, readable for the server and for whoever listens.
        case basic
        /// Digest: a proof of the password.
        case digest
        /// NTLM.
        case ntlm
        /// Negotiate: Kerberos.
        case negotiate
        /// A bearer token, which is the password.
        case bearer
        /// `provider` is the parameter of CURLOPT_AWS_SIGV4, for instance `aws:amz:eu-central-1:s3`.
        case awsSigV4(provider: String)
    }

    /// How to answer.
    public var scheme: Scheme
    /// The user's name.
    public var username: String
    /// The password, the bearer token or the secret key.
    public var password: String

    /// Makes credentials.
    public init(scheme: Scheme = .any, username: String, password: String) {
        self.scheme = scheme
        self.username = username
        self.password = password
    }
}
