public import Curlew
public import Foundation

/// A `CurlewError` as one of Alamofire's cases, with that case's payload: `error.afError`.
///
///     if case .responseValidationFailed(let reason)? = error.afError,
///         case .unacceptableStatusCode(let code) = reason { … }
public enum AFErrorCase: Error {
    /// The reason why a multipart form could not be encoded.
    public typealias MultipartEncodingFailureReason = CurlewError.MultipartEncodingFailureReason
    /// The reason why a `ParameterEncoding` failed.
    public typealias ParameterEncodingFailureReason = CurlewError.ParameterEncodingFailureReason
    /// The reason why a `ParameterEncoder` failed.
    public typealias ParameterEncoderFailureReason = CurlewError.ParameterEncoderFailureReason
    /// The reason why a response was not acceptable.
    public typealias ResponseValidationFailureReason = CurlewError.ResponseValidationFailureReason
    /// The reason why a body could not be turned into a value.
    public typealias ResponseSerializationFailureReason = CurlewError.ResponseSerializationFailureReason
    /// The reason why a server was not trusted.
    public typealias ServerTrustFailureReason = CurlewError.ServerTrustFailureReason
    /// The reason why a `URLRequest` cannot be sent.
    public typealias URLRequestValidationFailureReason = CurlewError.URLRequestValidationFailureReason

    /// The body of an upload could not be made.
    case createUploadableFailed(error: any Error)
    /// A `URLRequestConvertible` or a request modifier threw.
    case createURLRequestFailed(error: any Error)
    /// A downloaded file could not be moved to its destination.
    case downloadedFileMoveFailed(error: any Error, source: URL, destination: URL)
    /// The request was cancelled.
    case explicitlyCancelled
    /// The value given as a URL is not a URL.
    case invalidURL(url: any URLConvertible)
    /// A multipart form could not be encoded.
    case multipartEncodingFailed(reason: MultipartEncodingFailureReason)
    /// A `ParameterEncoding` failed.
    case parameterEncodingFailed(reason: ParameterEncodingFailureReason)
    /// A `ParameterEncoder` failed.
    case parameterEncoderFailed(reason: ParameterEncoderFailureReason)
    /// An adapter failed.
    case requestAdaptationFailed(error: any Error)
    /// A retrier ended the request with another error.
    case requestRetryFailed(retryError: any Error, originalError: any Error)
    /// The response was not accepted.
    case responseValidationFailed(reason: ResponseValidationFailureReason)
    /// The body could not be turned into a value.
    case responseSerializationFailed(reason: ResponseSerializationFailureReason)
    /// A trust evaluator refused the server.
    case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
    /// The session was deallocated before the request could run.
    case sessionDeinitialized
    /// The session was invalidated.
    case sessionInvalidated(error: (any Error)?)
    /// The exchange failed, usually with the `URLError` that corresponds to the code. An error for which Alamofire has
    /// no case is the payload itself.
    case sessionTaskFailed(error: any Error)
    /// The `URLRequest` cannot be sent.
    case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)
}

extension Error {
    /// The error as one of Alamofire's cases. `nil` if it is not a `CurlewError`. `AFErrorCase.afError` converts back.
    public var afError: AFErrorCase? { (self as? CurlewError).map(AFErrorCase.init) }
}

extension AFErrorCase {
    /// Creates Alamofire's case for an error.
    public init(_ error: CurlewError) {
        if case .exchange? = error.detail {
            // Whatever user code put inside, even one of the reasons, is the payload.
            self = .sessionTaskFailed(error: error.thrownError ?? error)
        } else {
            self = Self(reasonOf: error) ?? Self(codeOf: error)
        }
    }

    /// The case whose payload the error contains. `nil` if it contains none.
    private init?(reasonOf error: CurlewError) {
        switch error.underlying {
        case let reason as MultipartEncodingFailureReason: self = .multipartEncodingFailed(reason: reason)
        case let reason as ParameterEncodingFailureReason: self = .parameterEncodingFailed(reason: reason)
        case let reason as ParameterEncoderFailureReason: self = .parameterEncoderFailed(reason: reason)
        case let reason as ResponseValidationFailureReason: self = .responseValidationFailed(reason: reason)
        case let reason as ResponseSerializationFailureReason: self = .responseSerializationFailed(reason: reason)
        case let reason as ServerTrustFailureReason: self = .serverTrustEvaluationFailed(reason: reason)
        case let reason as URLRequestValidationFailureReason: self = .urlRequestValidationFailed(reason: reason)
        case let failure as CurlewError.RequestRetryFailure:
            self = .requestRetryFailed(retryError: failure.retryError, originalError: failure.originalError)
        case let failure as CurlewError.DownloadedFileMoveFailure:
            self = .downloadedFileMoveFailed(
                error: failure.error, source: failure.source, destination: failure.destination)
        case let reason as CurlewError.SessionClosedReason:
            switch reason {
            case .deinitialized: self = .sessionDeinitialized
            case .invalidated(let error): self = .sessionInvalidated(error: error)
            }
        default: return nil
        }
    }

    /// The case that corresponds to the code. Its payload is the underlying error, or the error itself if there is
    /// none.
    private init(codeOf error: CurlewError) {
        let inside = error.underlyingError ?? error
        if error.isExplicitlyCancelledError {
            self = .explicitlyCancelled
        } else if let url = error.urlConvertible {
            self = .invalidURL(url: url)
        } else if error.isSessionInvalidatedError {
            self = .sessionInvalidated(error: error.underlyingError)
        } else if error.isRequestAdaptationError {
            self = .requestAdaptationFailed(error: inside)
        } else if error.isCreateURLRequestError {
            self = .createURLRequestFailed(error: inside)
        } else if error.isCreateUploadableError {
            self = .createUploadableFailed(error: inside)
        } else if error.code == .unacceptableStatus, let status = error.responseCode {
            self = .responseValidationFailed(reason: .unacceptableStatusCode(code: status))
        } else if error.isResponseValidationError {
            self = .responseValidationFailed(reason: .customValidationFailed(error: inside))
        } else if error.isResponseSerializationError {
            self = .responseSerializationFailed(reason: .customSerializationFailed(error: inside))
        } else {
            // Code for Alamofire looks for a `URLError`, even if the system's own error is known.
            self = .sessionTaskFailed(error: error.urlError ?? inside)
        }
    }
}
