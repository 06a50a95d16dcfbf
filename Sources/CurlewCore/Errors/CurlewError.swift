public import Foundation

/// The error type of Curlew.
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
///     resilience   limited circuitOpen
///     lifecycle    cancelled sessionClosed
///     WebSocket    webSocketRefused webSocketClosed
///     other        unsupported internal
///
/// Catch by code: `catch CurlewError.Code.cancelled`, or ask `error.isTimeout`, `error.isSafeToRetry`.
public struct CurlewError: Error, Sendable {
    /// The kind of failure.
    public var code: Code {
        get { shared.values.code }
        set { shared.values.code = newValue }
    }
    /// The phase in which the attempt failed.
    public var phase: Phase {
        get { shared.values.phase }
        set { shared.values.phase = newValue }
    }
    /// A sentence that describes the failure, without credentials, cookies or query values.
    public var reason: String {
        get { shared.values.reason }
        set { shared.values.reason = newValue }
    }
    /// The URL of the request, without user information and query values.
    public var url: URL? {
        get { shared.values.url }
        set { shared.values.url = newValue.map(Redaction.redacted) }
    }
    /// The number of the attempt, beginning with 0.
    public var attempt: Int {
        get { shared.values.attempt }
        set { shared.values.attempt = newValue }
    }
    /// The error that your code or the system threw; `nil` if there is none.
    public var underlying: (any Error)? {
        get { shared.values.underlying }
        set {
            shared.values.underlying = newValue
            // The detail describes the former underlying error.
            shared.values.detail = nil
        }
    }
    /// The number and name of the error in libcurl or the system; `nil` if neither reported one.
    public var native: NativeCode? {
        get { shared.values.native }
        set { shared.values.native = newValue }
    }
    /// The metrics up to the failure; `nil` if no exchange had begun.
    public var metrics: TransferMetrics? {
        get { shared.values.metrics }
        set { shared.values.metrics = newValue }
    }
    /// The status of the response; `nil` if there was none.
    public var responseCode: Int? {
        get { shared.values.responseCode }
        set { shared.values.responseCode = newValue }
    }
    /// The beginning of the body of a response that was not acceptable or could not be decoded.
    public var responseBody: Data? {
        get { shared.values.responseBody }
        set { shared.values.responseBody = newValue }
    }
    /// The data with which to resume a failed download; `nil` if it cannot be resumed. Treat it as confidentially as
    /// the URL that it contains.
    public var downloadResumeData: Data? {
        get { shared.values.downloadResumeData }
        set { shared.values.downloadResumeData = newValue }
    }
    /// The code with which a WebSocket was closed; `nil` if there is none.
    public var closeCode: WebSocketCloseCode? {
        get { shared.values.closeCode }
        set { shared.values.closeCode = newValue }
    }
    /// The reason in the close frame, exactly as the peer sent it.
    public var closeReason: String? {
        get { shared.values.closeReason }
        set { shared.values.closeReason = newValue }
    }
    /// For `.limited` and `.circuitOpen`, the time after which another try makes sense; `nil` if it is not known.
    public var retryAfter: Duration? {
        get { shared.values.retryAfter }
        set { shared.values.retryAfter = newValue }
    }
    /// Whether the request cannot have taken effect on the server, or may take effect twice without harm.
    public var isSafeToRetry: Bool {
        get { shared.values.isSafeToRetry }
        set { shared.values.isSafeToRetry = newValue }
    }

    /// A suggestion that replaces the general one for the code; set by the code that creates the error.
    package var suggestion: String? {
        get { shared.values.suggestion }
        set { shared.values.suggestion = newValue }
    }

    /// Facts beyond the public properties; `nil` if there are none.
    package var detail: Detail? {
        get { shared.values.detail }
        set { shared.values.detail = newValue }
    }

    // One reference, so that typed throws and results move a single word.
    private var shared: CopyOnWrite<Values>

    private struct Values {
        var code: Code
        var phase: Phase
        var reason: String
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
        var retryAfter: Duration?
        var suggestion: String?
        var detail: Detail?
    }

    /// Creates an error.
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
        shared = CopyOnWrite(
            Values(
                code: code,
                phase: phase,
                reason: reason,
                url: url.map(Redaction.redacted),
                attempt: attempt,
                underlying: underlying,
                native: native,
                metrics: metrics,
                responseCode: responseCode,
                responseBody: responseBody,
                isSafeToRetry: isSafeToRetry
            ))
    }

    /// A phase of an attempt.
    public enum Phase: String, Sendable, Hashable {
        /// The request was being created.
        case creation
        /// Adapters were changing the request.
        case adaptation
        /// The request was waiting for a connection.
        case queue
        /// The host name was being resolved.
        case resolve
        /// The connection was being established.
        case connect
        /// A proxy was asked to connect.
        case proxy
        /// TLS was being negotiated.
        case tls
        /// The request was being sent.
        case send
        /// The request was sent, and the response had not begun.
        case waiting
        /// The response was arriving.
        case receive
        /// A redirect was being checked.
        case redirect
        /// Another attempt was being decided on.
        case retry
        /// The response was being validated.
        case validation
        /// The body was being decoded or serialized.
        case decoding
        /// A file was being written or moved.
        case file
        /// The request or its session was being ended.
        case lifecycle
    }

    /// A number with its C name: `28 CURLE_OPERATION_TIMEDOUT`, `13 EACCES`.
    public struct NativeCode: Sendable, Hashable, CustomStringConvertible {
        /// The number that libcurl or the system reported.
        public let number: Int
        /// The name that the manual gives to the number.
        public let name: String

        package init(number: Int, name: String) {
            self.number = number
            self.name = name
        }

        public var description: String { "\(number) \(name)" }
    }
}

extension CurlewError {
    /// Whether one of the five timeouts expired.
    public var isTimeout: Bool {
        switch code {
        case .queueTimedOut, .connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut: true
        default: false
        }
    }

    /// Whether the server or proxy could not be reached, or the connection broke.
    public var isConnectivity: Bool {
        switch code {
        case .resolveFailed, .connectFailed, .proxyFailed, .sendFailed, .receiveFailed, .truncated,
            .connectTimedOut:
            true
        default: false
        }
    }

    /// Whether the request was cancelled.
    public var isCancellation: Bool { code == .cancelled }

    /// Whether the connection could not be secured.
    public var isTLS: Bool {
        switch code {
        case .tlsFailed, .certificateExpired, .certificateHostMismatch, .certificateUntrusted,
            .certificateRevoked, .clientCertificateRequired:
            true
        default: false
        }
    }

    /// Whether the transport failed: connection, TLS, protocol, a limit or a timeout. An error with another detail than
    /// `.exchange`, for instance one of a trust evaluator, is not the transport's.
    package var isExchangeFailure: Bool {
        switch detail {
        case .exchange?: return true
        case nil: break
        default: return false
        }
        if isTimeout || isConnectivity || isTLS { return true }
        switch code {
        case .addressRefused, .protocolViolation, .contentDecodingFailed, .limitExceeded, .authenticationFailed,
            .tooManyRedirects, .redirectRefused, .invalidURL:
            return true
        default:
            return false
        }
    }

    // CurlewAlamofire declares properties named `responseCode` and `underlying`, and reads the original ones as these.

    package var statusOfResponse: Int? { responseCode }
    package var thrownError: (any Error)? {
        get { underlying }
        set { underlying = newValue }
    }
}

extension CurlewError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The error in one line: code, reason, phase, URL, attempt, status and native code. It contains no credentials or
    /// query values.
    public var description: String {
        var text = code.rawValue
        if !reason.isEmpty { text += ": \(reason)" }
        text += " (phase \(phase.rawValue)"
        if let url { text += ", \(url.absoluteString)" }
        // `attempt` counts from zero; the text counts from one, and leaves the first attempt out.
        if attempt > 0 { text += ", attempt \(attempt + 1)" }
        if let responseCode { text += ", status \(responseCode)" }
        if let native { text += ", \(native)" }
        return text + ")"
    }

    /// The description, followed by every other known detail on lines below it: the underlying error, the names in the
    /// certificate, the error before a failed retry, the beginning of the body, the close frame of a WebSocket, the
    /// metrics and the suggestion. It contains no credentials or query values either.
    public var debugDescription: String {
        var lines = [description]
        if let underlying { lines.append("underlying: \(Self.typeAndText(of: underlying))") }
        switch detail {
        case .names(_, let names)?:
            let list = names.isEmpty ? "none" : names.joined(separator: " ")
            lines.append("names in the certificate: \(Redaction.excerpt(of: list, limit: 2_000))")
        case .retry(let original)?: lines.append("original error: \(Self.typeAndText(of: original))")
        default: break
        }
        if let responseBody { lines.append("body: \(Redaction.excerpt(of: responseBody, limit: 2_000))") }
        if let closeCode { lines.append("close code: \(closeCode.rawValue)") }
        if let closeReason { lines.append("close reason: \(Redaction.excerpt(of: closeReason, limit: 200))") }
        if let retryAfter { lines.append("retry after: \(retryAfter)") }
        if downloadResumeData != nil { lines.append("resume data: yes") }
        lines.append("safe to retry: \(isSafeToRetry ? "yes" : "no")")
        if let metrics { lines.append("metrics: \(metrics)") }
        if let recoverySuggestion { lines.append("suggestion: \(recoverySuggestion)") }
        return lines.joined(separator: "\n    ")
    }

    private static func typeAndText(of error: any Error) -> String {
        let text = (error as? CurlewError)?.description ?? Redaction.excerpt(of: "\(error)", limit: 2_000)
        return "\(type(of: error)): \(text)"
    }
}

extension CurlewError: LocalizedError {
    /// A sentence for people, without credentials and query values.
    public var errorDescription: String? {
        if isExchangeFailure {
            return "The exchange failed with error: " + (reason.isEmpty ? code.rawValue : reason)
        }
        return reason.isEmpty ? "\(code.rawValue) (phase \(phase.rawValue))" : reason
    }
}
