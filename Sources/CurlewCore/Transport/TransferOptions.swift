/// What one exchange may differ in from its session.
public struct TransferOptions: Sendable {
    public var timeouts: Timeouts
    /// Most bytes of body after content decoding; nil where they do not stay in memory (file, stream).
    public var maximumBodySize: Int?
    /// What the bytes are for; it sizes the receive buffer.
    public var purpose: TransferPurpose = .memory
    /// Whether Content-Encoding is undone. Off for resumed downloads and for `Accept-Encoding: identity`.
    public var decodesContent = true
    public var authentication: TransferAuthentication?
    /// Instead of the session's proxy.
    public var proxy: Proxy?
    public var expectContinue: ExpectContinue = .automatic
    /// Bytes per second; nil is the session's.
    public var uploadRateLimit: Int?
    public var downloadRateLimit: Int?
    /// Whether the exchange may share a multiplexed connection, and wait for one that is being set up.
    public var multiplexes = true
    /// Whether libcurl may send it again on a new connection when a re-used one turns out dead:
    /// nil decides by method and body.
    public var mayBeResentSilently: Bool?

    public init(timeouts: Timeouts = Timeouts(), maximumBodySize: Int? = nil) {
        self.timeouts = timeouts
        self.maximumBodySize = maximumBodySize
    }
}

/// What a response body is for.
public enum TransferPurpose: Sendable, Hashable { case memory, file, stream }

/// When `Expect: 100-continue` is sent with a body.
public enum ExpectContinue: Sendable, Hashable {
    /// For bodies above 1 MiB or of unknown length.
    case automatic
    case always, never
}

/// Credentials that libcurl answers a server's challenge with.
public struct TransferAuthentication: Sendable, Hashable {
    public enum Scheme: Sendable, Hashable {
        /// The strongest that the server offers of Digest, Basic, NTLM, Negotiate.
        case any
        case basic, digest, ntlm, negotiate, bearer
        /// `provider` is the parameter of CURLOPT_AWS_SIGV4, for instance `aws:amz:eu-central-1:s3`.
        case awsSigV4(provider: String)
    }

    public var scheme: Scheme
    public var username: String
    /// The password, the bearer token or the secret key.
    public var password: String

    public init(scheme: Scheme = .any, username: String, password: String) {
        self.scheme = scheme
        self.username = username
        self.password = password
    }
}
