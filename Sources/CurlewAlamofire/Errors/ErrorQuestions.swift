public import Curlew

// Alamofire's predicates. They inspect the error and its reason, never the errors that the reason wraps.
extension CurlewError {
    /// Whether the session was deinitialized before the request ended; Alamofire's name.
    public var isSessionDeinitializedError: Bool {
        guard code == .sessionClosed, case .deinitialized? = underlying as? SessionClosedReason else { return false }
        return true
    }

    /// Whether the session was invalidated; Alamofire's name.
    public var isSessionInvalidatedError: Bool { code == .sessionClosed && !isSessionDeinitializedError }

    /// Whether the request was cancelled; Alamofire's name for `isCancellation`.
    public var isExplicitlyCancelledError: Bool { code == .cancelled }

    /// Whether there is no URL, or one to which no request can be sent; Alamofire's name.
    public var isInvalidURLError: Bool { code == .invalidURL }

    /// Whether a `ParameterEncoding` (or a JSON parameter encoder) failed; Alamofire's name.
    public var isParameterEncodingError: Bool {
        code == .parameterEncodingFailed && !(underlying is ParameterEncoderFailureReason)
    }

    /// Whether a `ParameterEncoder` failed; Alamofire's name.
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

    /// Whether the response could not be converted into the requested value; Alamofire's name.
    public var isResponseSerializationError: Bool {
        code == .decodingFailed || underlying is ResponseSerializationFailureReason
    }

    /// Whether a trust evaluator refused the server; Alamofire's name.
    public var isServerTrustEvaluationError: Bool { isTLS && underlying is ServerTrustFailureReason }

    /// Whether the retrier itself failed; Alamofire's name.
    public var isRequestRetryError: Bool { code == .retryFailed }

    /// Whether the body of an upload could not be created; Alamofire's name.
    public var isCreateUploadableError: Bool {
        (code == .bodyUnavailable && phase != .receive) || (code == .fileUnreadable && phase == .creation)
    }

    /// Whether a `URLRequestConvertible` failed to create its request; Alamofire's name.
    public var isCreateURLRequestError: Bool { code == .requestCreationFailed }

    /// Whether a downloaded file could not be moved to its destination; Alamofire's name.
    public var isDownloadedFileMoveError: Bool {
        switch code {
        case .destinationExists, .destinationMissing, .diskFull, .moveFailed: true
        default: false
        }
    }

    /// Whether the transport failed: connection, TLS, protocol, a limit or a timeout; Alamofire's name.
    public var isSessionTaskError: Bool { !isServerTrustEvaluationError && isExchangeFailure }
}
