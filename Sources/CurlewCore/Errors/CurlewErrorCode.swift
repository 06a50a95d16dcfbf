extension CurlewError {
    /// What went wrong. An open set: a later version may add members, so a `switch` needs a default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The member's name.
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public var description: String { rawValue }

        /// `catch CurlewError.Code.cancelled { … }`
        public static func ~= (code: Code, error: any Error) -> Bool {
            (error as? CurlewError)?.code == code
        }
    }
}

extension CurlewError.Code {
    /// Not a URL, or not one of http or https.
    public static let invalidURL = Self(rawValue: "invalidURL")
    /// A header's name is no token, or its value has CR, LF or NUL in it.
    public static let invalidHeader = Self(rawValue: "invalidHeader")
    /// A body where the method has none.
    public static let invalidBody = Self(rawValue: "invalidBody")
    /// Your `asURLRequest` or request modifier threw.
    public static let requestCreationFailed = Self(rawValue: "requestCreationFailed")
    /// An encoder could not encode the parameters.
    public static let parameterEncodingFailed = Self(rawValue: "parameterEncodingFailed")
    /// A part of the form cannot be read.
    public static let multipartEncodingFailed = Self(rawValue: "multipartEncodingFailed")
    /// The body's source failed, or would be needed twice.
    public static let bodyUnavailable = Self(rawValue: "bodyUnavailable")
    /// An adapter threw.
    public static let adaptationFailed = Self(rawValue: "adaptationFailed")
    /// No address was found for the name.
    public static let resolveFailed = Self(rawValue: "resolveFailed")
    /// No server listens at the address, or there is no way to it.
    public static let connectFailed = Self(rawValue: "connectFailed")
    /// The proxy refused, or cannot be reached.
    public static let proxyFailed = Self(rawValue: "proxyFailed")
    /// The two sides could not agree on TLS, or the handshake broke.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server's certificate has expired, or is not valid yet.
    public static let certificateExpired = Self(rawValue: "certificateExpired")
    /// The server's certificate was issued for another name.
    public static let certificateHostMismatch = Self(rawValue: "certificateHostMismatch")
    /// The server's certificate has no issuer that is trusted, or is not a pinned one.
    public static let certificateUntrusted = Self(rawValue: "certificateUntrusted")
    /// The server's certificate was revoked.
    public static let certificateRevoked = Self(rawValue: "certificateRevoked")
    /// The server wants a certificate of the client.
    public static let clientCertificateRequired = Self(rawValue: "clientCertificateRequired")
    /// The connection broke while the request was being sent.
    public static let sendFailed = Self(rawValue: "sendFailed")
    /// The connection broke before the response was complete.
    public static let receiveFailed = Self(rawValue: "receiveFailed")
    /// The answer breaks the rules of HTTP.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The body's coding is broken or unknown.
    public static let contentDecodingFailed = Self(rawValue: "contentDecodingFailed")
    /// The body ended before the length that was announced.
    public static let truncated = Self(rawValue: "truncated")
    /// A header, a body, a line or an event is above its limit.
    public static let limitExceeded = Self(rawValue: "limitExceeded")
    /// The name leads to an address that the policy does not allow.
    public static let addressRefused = Self(rawValue: "addressRefused")
    /// No connection became free in time.
    public static let queueTimedOut = Self(rawValue: "queueTimedOut")
    /// No connection was made in time.
    public static let connectTimedOut = Self(rawValue: "connectTimedOut")
    /// The answer did not begin in time.
    public static let firstByteTimedOut = Self(rawValue: "firstByteTimedOut")
    /// Nothing came or went for too long.
    public static let idleTimedOut = Self(rawValue: "idleTimedOut")
    /// All of it together took too long.
    public static let totalTimedOut = Self(rawValue: "totalTimedOut")
    /// More redirects than the policy allows, or a loop.
    public static let tooManyRedirects = Self(rawValue: "tooManyRedirects")
    /// A redirect that the policy does not follow, such as one from https to http.
    public static let redirectRefused = Self(rawValue: "redirectRefused")
    /// An authentication could not be carried out. Credentials that a server does not accept are a response with status 401.
    public static let authenticationFailed = Self(rawValue: "authenticationFailed")
    /// The retrier answered with an error.
    public static let retryFailed = Self(rawValue: "retryFailed")
    /// The status is not among those that are accepted.
    public static let unacceptableStatus = Self(rawValue: "unacceptableStatus")
    /// The content type is not among those that are accepted, or missing.
    public static let unacceptableContentType = Self(rawValue: "unacceptableContentType")
    /// A validator of yours refused the response, or the checksum is wrong.
    public static let validationFailed = Self(rawValue: "validationFailed")
    /// The body is not what was asked for.
    public static let decodingFailed = Self(rawValue: "decodingFailed")
    /// A file to send cannot be read.
    public static let fileUnreadable = Self(rawValue: "fileUnreadable")
    /// There is a file at the destination.
    public static let destinationExists = Self(rawValue: "destinationExists")
    /// The destination's directory does not exist.
    public static let destinationMissing = Self(rawValue: "destinationMissing")
    /// There is no room on the disk, or a quota is used up.
    public static let diskFull = Self(rawValue: "diskFull")
    /// The file could not be put in its place.
    public static let moveFailed = Self(rawValue: "moveFailed")
    /// The resume data cannot be used.
    public static let resumeRejected = Self(rawValue: "resumeRejected")
    /// Only a stored response was wanted, and there is none that may be used.
    public static let notInCache = Self(rawValue: "notInCache")
    /// The request was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The session was invalidated, or is gone.
    public static let sessionClosed = Self(rawValue: "sessionClosed")
    /// The server did not open the WebSocket.
    public static let webSocketRefused = Self(rawValue: "webSocketRefused")
    /// The peer closed the WebSocket with a code that is not an ordinary end, or without any.
    public static let webSocketClosed = Self(rawValue: "webSocketClosed")
    /// The running libcurl, or Curlew, cannot do what was asked for.
    public static let unsupported = Self(rawValue: "unsupported")
    /// A fault of Curlew.
    public static let `internal` = Self(rawValue: "internal")

    /// Every code that Curlew knows.
    package static let allKnown: [Self] = [
        .invalidURL, .invalidHeader, .invalidBody, .requestCreationFailed, .parameterEncodingFailed,
        .multipartEncodingFailed, .bodyUnavailable, .adaptationFailed, .resolveFailed, .connectFailed,
        .proxyFailed, .tlsFailed, .certificateExpired, .certificateHostMismatch, .certificateUntrusted,
        .certificateRevoked, .clientCertificateRequired, .sendFailed, .receiveFailed, .protocolViolation,
        .contentDecodingFailed, .truncated, .limitExceeded, .addressRefused, .queueTimedOut, .connectTimedOut,
        .firstByteTimedOut, .idleTimedOut, .totalTimedOut, .tooManyRedirects, .redirectRefused,
        .authenticationFailed, .retryFailed, .unacceptableStatus, .unacceptableContentType, .validationFailed,
        .decodingFailed, .fileUnreadable, .destinationExists, .destinationMissing, .diskFull, .moveFailed,
        .resumeRejected, .notInCache, .cancelled, .sessionClosed, .webSocketRefused, .webSocketClosed, .unsupported,
        .`internal`,
    ]
}
