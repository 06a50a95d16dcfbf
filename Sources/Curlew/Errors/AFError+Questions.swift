public import CurlewCore

// Alamofire's questions. They look at the error itself, never inside what it wraps.
extension CurlewError {
    public var isSessionDeinitializedError: Bool {
        guard code == .sessionClosed, case .deinitialized? = underlying as? SessionClosedReason else { return false }
        return true
    }

    public var isSessionInvalidatedError: Bool { code == .sessionClosed && !isSessionDeinitializedError }

    public var isExplicitlyCancelledError: Bool { code == .cancelled }

    /// There is no URL, or one that no request can be sent to.
    public var isInvalidURLError: Bool { code == .invalidURL }

    /// A `ParameterEncoding` (or a JSON parameter encoder) failed.
    public var isParameterEncodingError: Bool {
        code == .parameterEncodingFailed && !(underlying is ParameterEncoderFailureReason)
    }

    /// A `ParameterEncoder` failed.
    public var isParameterEncoderError: Bool {
        code == .parameterEncodingFailed && underlying is ParameterEncoderFailureReason
    }

    public var isMultipartEncodingError: Bool { code == .multipartEncodingFailed }

    public var isRequestAdaptationError: Bool { code == .adaptationFailed }

    public var isResponseValidationError: Bool {
        switch code {
        case .unacceptableStatus, .unacceptableContentType, .validationFailed: true
        default: underlying is ResponseValidationFailureReason
        }
    }

    public var isResponseSerializationError: Bool {
        code == .decodingFailed || underlying is ResponseSerializationFailureReason
    }

    public var isServerTrustEvaluationError: Bool { isTLS && underlying is ServerTrustFailureReason }

    public var isRequestRetryError: Bool { code == .retryFailed }

    /// The body of an upload could not be made.
    public var isCreateUploadableError: Bool {
        code == .bodyUnavailable || (code == .fileUnreadable && phase == .creation)
    }

    public var isCreateURLRequestError: Bool { code == .requestCreationFailed }

    public var isDownloadedFileMoveError: Bool {
        switch code {
        case .destinationExists, .destinationMissing, .diskFull, .moveFailed: true
        default: false
        }
    }

    /// The transport failed: connection, TLS, protocol, a limit or a clock.
    public var isSessionTaskError: Bool {
        if isServerTrustEvaluationError { return false }
        if isTimeout || isConnectivity || isTLS { return true }
        switch code {
        case .addressRefused, .protocolViolation, .contentDecodingFailed, .limitExceeded, .authenticationFailed,
            .tooManyRedirects, .redirectRefused:
            return true
        case .invalidURL:
            // There is a URL, and nothing can be sent to it.
            return !(underlying is InvalidURLReason)
        default:
            return false
        }
    }
}
