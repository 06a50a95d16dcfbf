extension CurlewError {
    /// The kind of failure. The set is open: a later version may add members, so a `switch` needs a default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The member's name.
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public var description: String { rawValue }

        /// Matches an error by its code: `catch CurlewError.Code.cancelled { … }`.
        public static func ~= (code: Code, error: any Error) -> Bool {
            (error as? CurlewError)?.code == code
        }
    }
}

extension CurlewError.Code {
    /// The URL is malformed, or its scheme is not http or https.
    public static let invalidURL = Self(rawValue: "invalidURL")
    /// A header's name is not a token, or its value contains CR, LF or NUL.
    public static let invalidHeader = Self(rawValue: "invalidHeader")
    /// The request has a body, but its method allows none.
    public static let invalidBody = Self(rawValue: "invalidBody")
    /// Your `asURLRequest` or request modifier threw.
    public static let requestCreationFailed = Self(rawValue: "requestCreationFailed")
    /// An encoder failed to encode the parameters.
    public static let parameterEncodingFailed = Self(rawValue: "parameterEncodingFailed")
    /// A part of the form could not be read.
    public static let multipartEncodingFailed = Self(rawValue: "multipartEncodingFailed")
    /// The body's source failed, or the body would have to be read twice.
    public static let bodyUnavailable = Self(rawValue: "bodyUnavailable")
    /// An adapter threw.
    public static let adaptationFailed = Self(rawValue: "adaptationFailed")
    /// The host name has no address.
    public static let resolveFailed = Self(rawValue: "resolveFailed")
    /// No server listens at the address, or there is no route to it.
    public static let connectFailed = Self(rawValue: "connectFailed")
    /// The proxy refused the request, or could not be reached.
    public static let proxyFailed = Self(rawValue: "proxyFailed")
    /// Client and server could not agree on TLS, or the handshake broke off.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server's certificate has expired or is not yet valid.
    public static let certificateExpired = Self(rawValue: "certificateExpired")
    /// The server's certificate was issued for another name.
    public static let certificateHostMismatch = Self(rawValue: "certificateHostMismatch")
    /// The server's certificate has no trusted issuer, or its key is not among the pinned ones.
    public static let certificateUntrusted = Self(rawValue: "certificateUntrusted")
    /// The server's certificate was revoked.
    public static let certificateRevoked = Self(rawValue: "certificateRevoked")
    /// The server requires a client certificate.
    public static let clientCertificateRequired = Self(rawValue: "clientCertificateRequired")
    /// The connection broke while the request was being sent.
    public static let sendFailed = Self(rawValue: "sendFailed")
    /// The connection broke before the response was complete.
    public static let receiveFailed = Self(rawValue: "receiveFailed")
    /// The response violates HTTP.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The body's content coding is corrupt or unknown.
    public static let contentDecodingFailed = Self(rawValue: "contentDecodingFailed")
    /// The body ended before its announced length.
    public static let truncated = Self(rawValue: "truncated")
    /// A header, a body, a line or an event exceeds its limit.
    public static let limitExceeded = Self(rawValue: "limitExceeded")
    /// The host name resolves to an address that the address policy refuses.
    public static let addressRefused = Self(rawValue: "addressRefused")
    /// No connection became free in time, or no place in a limit of the session's resilience.
    public static let queueTimedOut = Self(rawValue: "queueTimedOut")
    /// No connection was established in time.
    public static let connectTimedOut = Self(rawValue: "connectTimedOut")
    /// The response did not begin in time.
    public static let firstByteTimedOut = Self(rawValue: "firstByteTimedOut")
    /// No byte was sent or received for too long.
    public static let idleTimedOut = Self(rawValue: "idleTimedOut")
    /// The request as a whole took too long.
    public static let totalTimedOut = Self(rawValue: "totalTimedOut")
    /// There were more redirects than the policy allows, possibly in a loop.
    public static let tooManyRedirects = Self(rawValue: "tooManyRedirects")
    /// The policy does not follow the redirect, for instance from https to http.
    public static let redirectRefused = Self(rawValue: "redirectRefused")
    /// Authentication could not be carried out. Credentials that the server rejects are not this error, but a response
    /// with status 401.
    public static let authenticationFailed = Self(rawValue: "authenticationFailed")
    /// The retrier returned an error.
    public static let retryFailed = Self(rawValue: "retryFailed")
    /// The status is not acceptable.
    public static let unacceptableStatus = Self(rawValue: "unacceptableStatus")
    /// The content type is missing or not acceptable.
    public static let unacceptableContentType = Self(rawValue: "unacceptableContentType")
    /// One of your validators refused the response, or the checksum does not match.
    public static let validationFailed = Self(rawValue: "validationFailed")
    /// The body does not have the expected form.
    public static let decodingFailed = Self(rawValue: "decodingFailed")
    /// A file to send could not be read.
    public static let fileUnreadable = Self(rawValue: "fileUnreadable")
    /// A file exists at the destination.
    public static let destinationExists = Self(rawValue: "destinationExists")
    /// The destination's directory does not exist.
    public static let destinationMissing = Self(rawValue: "destinationMissing")
    /// The disk is full, or a quota is used up.
    public static let diskFull = Self(rawValue: "diskFull")
    /// The file could not be moved to its destination.
    public static let moveFailed = Self(rawValue: "moveFailed")
    /// The resume data could not be used.
    public static let resumeRejected = Self(rawValue: "resumeRejected")
    /// The request allows only a stored response, and the cache has none that may be used.
    public static let notInCache = Self(rawValue: "notInCache")
    /// A limit of the session's resilience does not permit the request in time. It was not sent.
    public static let limited = Self(rawValue: "limited")
    /// The circuit breaker of the session's resilience is open, because the server fails. The request was not sent.
    public static let circuitOpen = Self(rawValue: "circuitOpen")
    /// The request was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The session was invalidated or released.
    public static let sessionClosed = Self(rawValue: "sessionClosed")
    /// The server did not accept the WebSocket handshake.
    public static let webSocketRefused = Self(rawValue: "webSocketRefused")
    /// The peer closed the WebSocket with a code that does not mean a normal end, or the connection ended without a
    /// close frame. Sending on a WebSocket that has ended fails with this code, too.
    public static let webSocketClosed = Self(rawValue: "webSocketClosed")
    /// Curlew or the running libcurl does not support the requested feature.
    public static let unsupported = Self(rawValue: "unsupported")
    /// A defect in Curlew.
    public static let `internal` = Self(rawValue: "internal")

    /// Every code that Curlew knows, for tests that must cover every code.
    ///
    /// A new code is added above, here, to the suggestions below, to the table at the top of `CurlewError`, and to the
    /// page Errors of the guide. It means a permanent failure unless a question of `CurlewError`, such as `isTimeout`,
    /// or a policy's default codes name it.
    package static let allKnown: [Self] = [
        .invalidURL, .invalidHeader, .invalidBody, .requestCreationFailed, .parameterEncodingFailed,
        .multipartEncodingFailed, .bodyUnavailable, .adaptationFailed, .resolveFailed, .connectFailed,
        .proxyFailed, .tlsFailed, .certificateExpired, .certificateHostMismatch, .certificateUntrusted,
        .certificateRevoked, .clientCertificateRequired, .sendFailed, .receiveFailed, .protocolViolation,
        .contentDecodingFailed, .truncated, .limitExceeded, .addressRefused, .queueTimedOut, .connectTimedOut,
        .firstByteTimedOut, .idleTimedOut, .totalTimedOut, .tooManyRedirects, .redirectRefused,
        .authenticationFailed, .retryFailed, .unacceptableStatus, .unacceptableContentType, .validationFailed,
        .decodingFailed, .fileUnreadable, .destinationExists, .destinationMissing, .diskFull, .moveFailed,
        .resumeRejected, .notInCache, .limited, .circuitOpen, .cancelled, .sessionClosed, .webSocketRefused,
        .webSocketClosed, .unsupported, .`internal`,
    ]
}

extension CurlewError {
    /// A remedy in one or two sentences; `nil` if there is none.
    public var recoverySuggestion: String? {
        if let suggestion { return suggestion }
        if code == .unacceptableStatus { return Self.suggestion(forStatus: responseCode) }
        return Self.suggestions[code]
    }

    private static func suggestion(forStatus status: Int?) -> String? {
        switch status {
        case 401: "Check the credentials, and the scheme that the server asks for."
        case 404, 410: "Check the URL's path."
        case 407: "Check the credentials for the proxy."
        case 408, 429, 502, 503, 504: "Try again later."
        default: nil
        }
    }

    /// The suggestions for codes that identify the cause well enough. They name no setting of the library, because the
    /// command-line tool shows them as well.
    private static let suggestions: [Code: String] = [
        .invalidURL: "Write the whole URL, beginning with https:// or http://.",
        .invalidHeader: "Check where the field's name and value come from: it may be an attempt to add another field.",
        .invalidBody: "Use another method, or put the parameters into the query.",
        .fileUnreadable: "Check the path and the permissions of the file.",
        .resolveFailed: "Check the spelling of the host name, and that the network is up.",
        .connectFailed: "Check that the server is running, and that this is the right port.",
        .proxyFailed: "Check the proxy's URL and credentials, also in http_proxy, https_proxy and all_proxy.",
        .tlsFailed: "Check that the server offers TLS on this port, in a version that is allowed here.",
        .certificateUntrusted: "Trust the certificate authority that signed it, "
            + "or install the system's list of them (the package ca-certificates).",
        .certificateExpired: "Check the clock of this machine, and tell the server's owner.",
        .certificateHostMismatch: "Use a host name that the certificate is valid for.",
        .certificateRevoked: "Do not connect, and tell the server's owner.",
        .clientCertificateRequired: "Present a client certificate that the server accepts.",
        .sendFailed: "Send the request again if it may take effect twice.",
        .receiveFailed: "Send the request again if it may take effect twice.",
        .truncated: "Send the request again. A download can be resumed.",
        .protocolViolation: "Check that an HTTP server listens on this port, and whether it is http or https.",
        .contentDecodingFailed: "Ask for the body as it is: Accept-Encoding: identity.",
        .limitExceeded: "Ask for less, or raise the limit.",
        .queueTimedOut: "Send fewer requests at once, allow more connections, or wait longer.",
        .connectTimedOut: "Look for a firewall in between, or wait longer.",
        .firstByteTimedOut: "Give the server more time to answer.",
        .idleTimedOut: "Allow longer pauses, or send the request again.",
        .totalTimedOut: "Allow more time, or request less.",
        .tooManyRedirects: "Check where the redirects lead. A missing cookie is the usual reason.",
        .redirectRefused: "Request the new address directly.",
        .authenticationFailed: "Check the credentials, and the scheme that the server asks for.",
        .unacceptableContentType: "Read the beginning of the body: it is usually an error page, or one to log in.",
        .decodingFailed: "Compare the body with what was expected of it.",
        .destinationExists: "Choose another name, or replace the file.",
        .destinationMissing: "Create the directory first.",
        .diskFull: "Free some space.",
        .moveFailed: "Check the permissions of the directory.",
        .resumeRejected: "Start the download over.",
        .notInCache: "Allow the request to go to the server.",
        .limited: "Send fewer requests, or try again later.",
        .circuitOpen: "Try again later: the server has failed repeatedly.",
        .sessionClosed: "Keep the session for as long as it has requests.",
        .webSocketRefused: "Check that the URL is that of a WebSocket.",
    ]
}
