public import Foundation

/// Everything that can go wrong in Curlew, as one type.
///
///     request      invalidURL invalidHeader invalidBody requestCreationFailed parameterEncodingFailed
///                  multipartEncodingFailed bodyUnavailable fileUnreadable
///     adaptation   adaptationFailed
///     transport    resolveFailed connectFailed addressRefused proxyFailed
///                  tlsFailed certificateExpired certificateHostMismatch certificateUntrusted
///                  certificateRevoked clientCertificateRequired
///                  sendFailed receiveFailed protocolViolation contentDecodingFailed truncated limitExceeded
///     timeout      queueTimedOut connectTimedOut firstByteTimedOut idleTimedOut totalTimedOut
///     policy       tooManyRedirects redirectRefused authenticationFailed retryFailed
///     response     unacceptableStatus unacceptableContentType validationFailed
///     decoding     decodingFailed
///     download     destinationExists destinationMissing diskFull moveFailed resumeRejected
///     cache        notInCache
///     lifecycle    cancelled sessionClosed
///     WebSocket    webSocketRefused webSocketClosed
///     other        unsupported internal
///
/// Catch by code: `catch CurlewError.Code.cancelled`, or ask `error.isTimeout`, `error.isSafeToRetry`.
public struct CurlewError: Error, Sendable {
    /// What went wrong.
    public var code: Code
    /// How far the attempt had come.
    public var phase: Phase
    /// What happened, in one sentence without credentials, cookies or query values.
    public var reason: String
    /// Where to, without user information and query values.
    public var url: URL? {
        get { details.url }
        set { change { $0.url = newValue.map(Redaction.redacted) } }
    }
    /// 0 for the first try.
    public var attempt: Int {
        get { details.attempt }
        set { change { $0.attempt = newValue } }
    }
    /// What your own code or the system threw, if anything.
    public var underlying: (any Error)? {
        get { details.underlying }
        set { change { $0.underlying = newValue } }
    }
    /// libcurl's or the system's own number and name.
    public var native: NativeCode? {
        get { details.native }
        set { change { $0.native = newValue } }
    }
    /// What was measured until then, if anything was sent.
    public var metrics: TransferMetrics? {
        get { details.metrics }
        set { change { $0.metrics = newValue } }
    }
    /// The status of the response, if there was one.
    public var responseCode: Int? {
        get { details.responseCode }
        set { change { $0.responseCode = newValue } }
    }
    /// The first bytes of the body of an unacceptable response.
    public var responseBody: Data? {
        get { details.responseBody }
        set { change { $0.responseBody = newValue } }
    }
    /// What a later download can go on with, where this one has left something. Treat it as the URL that is in it.
    public var downloadResumeData: Data? {
        get { details.downloadResumeData }
        set { change { $0.downloadResumeData = newValue } }
    }
    /// The code of the close frame, where a WebSocket was closed.
    public var closeCode: WebSocketCloseCode? {
        get { details.closeCode }
        set { change { $0.closeCode = newValue } }
    }
    /// The reason in the close frame: the peer's own words.
    public var closeReason: String? {
        get { details.closeReason }
        set { change { $0.closeReason = newValue } }
    }
    /// Whether the request cannot have taken effect on the server, or may take effect twice without harm.
    public var isSafeToRetry: Bool {
        get { details.isSafeToRetry }
        set { change { $0.isSafeToRetry = newValue } }
    }

    // Rarely read and large: kept behind one reference so that a typed throw moves few words.
    private var details: Details

    /// Makes an error.
    public init(
        _ code: Code,
        phase: Phase,
        reason: String = "",
        url: URL? = nil,
        attempt: Int = 0,
        underlying: (any Error)? = nil,
        native: NativeCode? = nil,
        metrics: TransferMetrics? = nil,
        responseCode: Int? = nil,
        responseBody: Data? = nil,
        isSafeToRetry: Bool = false
    ) {
        self.code = code
        self.phase = phase
        self.reason = reason
        details = Details(
            url: url.map(Redaction.redacted),
            attempt: attempt,
            underlying: underlying,
            native: native,
            metrics: metrics,
            responseCode: responseCode,
            responseBody: responseBody,
            isSafeToRetry: isSafeToRetry
        )
    }

    private mutating func change(_ body: (inout Details.Values) -> Void) {
        var values = details.values
        body(&values)
        details = Details(values)
    }

    /// How far an attempt had come.
    public enum Phase: String, Sendable, Hashable {
        /// The request was being made.
        case creation
        /// Adapters were changing it.
        case adaptation
        /// It waited for a connection.
        case queue
        /// The host's name was looked up.
        case resolve
        /// The connection was being made.
        case connect
        /// A proxy was asked to connect.
        case proxy
        /// TLS was being negotiated.
        case tls
        /// The request was being sent.
        case send
        /// It was sent, and the answer had not begun.
        case waiting
        /// The answer was arriving.
        case receive
        /// A redirect was being judged.
        case redirect
        /// Another attempt was being decided on.
        case retry
        /// The response was being judged.
        case validation
        /// The body was being turned into a value.
        case decoding
        /// A file was being written or moved.
        case file
        /// The request or its session was being ended.
        case lifecycle
    }

    /// A number with its C name: `28 CURLE_OPERATION_TIMEDOUT`, `13 EACCES`.
    public struct NativeCode: Sendable, Hashable, CustomStringConvertible {
        /// The number that libcurl or the system gave.
        public let number: Int
        /// Its name, as the manual has it.
        public let name: String

        /// Makes a native code.
        public init(number: Int, name: String) {
            self.number = number
            self.name = name
        }

        public var description: String { "\(number) \(name)" }
    }

    @dynamicMemberLookup
    private final class Details: Sendable {
        struct Values: Sendable {
            var url: URL?
            var attempt: Int
            var underlying: (any Error)?
            var native: NativeCode?
            var metrics: TransferMetrics?
            var responseCode: Int?
            var responseBody: Data?
            var isSafeToRetry: Bool
            var downloadResumeData: Data?
            var closeCode: WebSocketCloseCode?
            var closeReason: String?
        }

        let values: Values

        init(_ values: Values) { self.values = values }

        convenience init(
            url: URL?,
            attempt: Int,
            underlying: (any Error)?,
            native: NativeCode?,
            metrics: TransferMetrics?,
            responseCode: Int?,
            responseBody: Data?,
            isSafeToRetry: Bool
        ) {
            self.init(
                Values(
                    url: url,
                    attempt: attempt,
                    underlying: underlying,
                    native: native,
                    metrics: metrics,
                    responseCode: responseCode,
                    responseBody: responseBody,
                    isSafeToRetry: isSafeToRetry
                )
            )
        }

        subscript<T>(dynamicMember keyPath: KeyPath<Values, T>) -> T { values[keyPath: keyPath] }
    }
}
