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
    public static let invalidURL = Self(rawValue: "invalidURL")
    public static let invalidHeader = Self(rawValue: "invalidHeader")
    public static let invalidBody = Self(rawValue: "invalidBody")
    public static let requestCreationFailed = Self(rawValue: "requestCreationFailed")
    public static let parameterEncodingFailed = Self(rawValue: "parameterEncodingFailed")
    public static let multipartEncodingFailed = Self(rawValue: "multipartEncodingFailed")
    public static let bodyUnavailable = Self(rawValue: "bodyUnavailable")
    public static let adaptationFailed = Self(rawValue: "adaptationFailed")
    public static let resolveFailed = Self(rawValue: "resolveFailed")
    public static let connectFailed = Self(rawValue: "connectFailed")
    public static let proxyFailed = Self(rawValue: "proxyFailed")
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    public static let certificateExpired = Self(rawValue: "certificateExpired")
    public static let certificateHostMismatch = Self(rawValue: "certificateHostMismatch")
    public static let certificateUntrusted = Self(rawValue: "certificateUntrusted")
    public static let certificateRevoked = Self(rawValue: "certificateRevoked")
    public static let clientCertificateRequired = Self(rawValue: "clientCertificateRequired")
    public static let sendFailed = Self(rawValue: "sendFailed")
    public static let receiveFailed = Self(rawValue: "receiveFailed")
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    public static let contentDecodingFailed = Self(rawValue: "contentDecodingFailed")
    public static let truncated = Self(rawValue: "truncated")
    public static let limitExceeded = Self(rawValue: "limitExceeded")
    public static let addressRefused = Self(rawValue: "addressRefused")
    public static let queueTimedOut = Self(rawValue: "queueTimedOut")
    public static let connectTimedOut = Self(rawValue: "connectTimedOut")
    public static let firstByteTimedOut = Self(rawValue: "firstByteTimedOut")
    public static let idleTimedOut = Self(rawValue: "idleTimedOut")
    public static let totalTimedOut = Self(rawValue: "totalTimedOut")
    public static let tooManyRedirects = Self(rawValue: "tooManyRedirects")
    public static let redirectRefused = Self(rawValue: "redirectRefused")
    public static let authenticationFailed = Self(rawValue: "authenticationFailed")
    public static let retryFailed = Self(rawValue: "retryFailed")
    public static let unacceptableStatus = Self(rawValue: "unacceptableStatus")
    public static let unacceptableContentType = Self(rawValue: "unacceptableContentType")
    public static let validationFailed = Self(rawValue: "validationFailed")
    public static let decodingFailed = Self(rawValue: "decodingFailed")
    public static let fileUnreadable = Self(rawValue: "fileUnreadable")
    public static let destinationExists = Self(rawValue: "destinationExists")
    public static let destinationMissing = Self(rawValue: "destinationMissing")
    public static let diskFull = Self(rawValue: "diskFull")
    public static let moveFailed = Self(rawValue: "moveFailed")
    public static let resumeRejected = Self(rawValue: "resumeRejected")
    public static let cancelled = Self(rawValue: "cancelled")
    public static let sessionClosed = Self(rawValue: "sessionClosed")
    public static let unsupported = Self(rawValue: "unsupported")
    public static let `internal` = Self(rawValue: "internal")

    /// Every code that Curlew knows.
    public static let allKnown: [Self] = [
        .invalidURL, .invalidHeader, .invalidBody, .requestCreationFailed, .parameterEncodingFailed,
        .multipartEncodingFailed, .bodyUnavailable, .adaptationFailed, .resolveFailed, .connectFailed,
        .proxyFailed, .tlsFailed, .certificateExpired, .certificateHostMismatch, .certificateUntrusted,
        .certificateRevoked, .clientCertificateRequired, .sendFailed, .receiveFailed, .protocolViolation,
        .contentDecodingFailed, .truncated, .limitExceeded, .addressRefused, .queueTimedOut, .connectTimedOut,
        .firstByteTimedOut, .idleTimedOut, .totalTimedOut, .tooManyRedirects, .redirectRefused,
        .authenticationFailed, .retryFailed, .unacceptableStatus, .unacceptableContentType, .validationFailed,
        .decodingFailed, .fileUnreadable, .destinationExists, .destinationMissing, .diskFull, .moveFailed,
        .resumeRejected, .cancelled, .sessionClosed, .unsupported, .`internal`,
    ]
}
