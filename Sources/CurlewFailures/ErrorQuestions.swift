public import CurlewCore

// Alamofire's questions. They look at the error itself, never inside what it wraps.
extension CurlewError {
    /// Whether the session was gone before the request could run; Alamofire's name.
    public var isSessionDeinitializedError: Bool {
        guard code == .sessionClosed, case .deinitialized? = underlying as? SessionClosedReason else { return false }
        return true
    }

    /// Whether the session was invalidated; Alamofire's name.
    public var isSessionInvalidatedError: Bool { code == .sessionClosed && !isSessionDeinitializedError }

    /// Whether the request was cancelled; Alamofire's name for `isCancellation`.
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

    /// Whether a multipart form could not be encoded; Alamofire's name.
    public var isMultipartEncodingError: Bool { code == .multipartEncodingFailed }

    /// Whether an adapter failed; Alamofire's name.
    public var isRequestAdaptationError: Bool { code == .adaptationFailed }

    /// Whether the response was not accepted; Alamofire's name.
    public var isResponseValidationError: Bool {
        switch code {
        case .unacceptableStatus, .unacceptableContentType, .validationFailed: true
        default: underlying is ResponseValidationFailureReason
        }
    }

    /// Whether the response could not be turned into the value that was asked for; Alamofire's name.
    public var isResponseSerializationError: Bool {
        code == .decodingFailed || underlying is ResponseSerializationFailureReason
    }

    /// Whether a trust evaluator refused the server; Alamofire's name.
    public var isServerTrustEvaluationError: Bool { isTLS && underlying is ServerTrustFailureReason }

    /// Whether the retrier itself failed; Alamofire's name.
    public var isRequestRetryError: Bool { code == .retryFailed }

    /// The body of an upload could not be made.
    public var isCreateUploadableError: Bool {
        (code == .bodyUnavailable && phase != .receive) || (code == .fileUnreadable && phase == .creation)
    }

    /// Whether a `URLRequestConvertible` failed to make its request; Alamofire's name.
    public var isCreateURLRequestError: Bool { code == .requestCreationFailed }

    /// Whether a downloaded file could not be put in its place; Alamofire's name.
    public var isDownloadedFileMoveError: Bool {
        switch code {
        case .destinationExists, .destinationMissing, .diskFull, .moveFailed: true
        default: false
        }
    }

    /// The transport failed: connection, TLS, protocol, a limit or a clock.
    public var isSessionTaskError: Bool {
        if isServerTrustEvaluationError { return false }
        if underlying is SessionTaskFailure { return true }
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

    /// `responseCode`, for a module that has a property of its own of that name.
    package var statusOfResponse: Int? { responseCode }
}
