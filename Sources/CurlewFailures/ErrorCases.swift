public import CurlewCore
public import Foundation

// Functions with the names of Alamofire's error cases. Code, phase, message and reason are combined only here.
extension CurlewError {
    /// The error of a cancelled request, as Alamofire writes it.
    public static var explicitlyCancelled: CurlewError {
        CurlewError(.cancelled, phase: .lifecycle, reason: "Request explicitly cancelled.")
    }

    /// The error of a value that is not a URL: a string, a `URL` or components.
    package static func invalidURL(of url: any Sendable) -> CurlewError {
        let reason = InvalidURLReason(url: url)
        return CurlewError(.invalidURL, phase: .creation, reason: reason.description, underlying: reason)
    }

    /// The error of a request that could not be created, as Alamofire writes it.
    public static func createURLRequestFailed(error: any Error) -> CurlewError {
        CurlewError(
            .requestCreationFailed,
            phase: .creation,
            reason: "Creation of the URLRequest failed with error: \(Explanation.of(error))",
            underlying: error
        )
    }

    /// The error of an upload whose body could not be created, as Alamofire writes it.
    public static func createUploadableFailed(error: any Error) -> CurlewError {
        CurlewError(
            .bodyUnavailable,
            phase: .creation,
            reason: "Creation of the upload's body failed with error: \(Explanation.of(error))",
            underlying: error
        )
    }

    /// The error of a `URLRequest` that cannot be sent, as Alamofire writes it.
    public static func urlRequestValidationFailed(reason: URLRequestValidationFailureReason) -> CurlewError {
        CurlewError(.invalidBody, phase: .creation, reason: reason.explanation, underlying: reason)
    }

    /// The error of a `ParameterEncoding`, as Alamofire writes it.
    public static func parameterEncodingFailed(reason: ParameterEncodingFailureReason) -> CurlewError {
        CurlewError(.parameterEncodingFailed, phase: .creation, reason: reason.explanation, underlying: reason)
    }

    /// The error of a `ParameterEncoder`, as Alamofire writes it.
    public static func parameterEncoderFailed(reason: ParameterEncoderFailureReason) -> CurlewError {
        CurlewError(.parameterEncodingFailed, phase: .creation, reason: reason.explanation, underlying: reason)
    }

    /// The error of a multipart form, as Alamofire writes it.
    public static func multipartEncodingFailed(reason: MultipartEncodingFailureReason) -> CurlewError {
        CurlewError(
            .multipartEncodingFailed,
            phase: .creation,
            reason: reason.explanation,
            url: reason.url,
            underlying: reason
        )
    }

    /// The error of an adapter, as Alamofire writes it.
    public static func requestAdaptationFailed(error: any Error) -> CurlewError {
        CurlewError(
            .adaptationFailed,
            phase: .adaptation,
            reason: "Request adaptation failed with error: \(Explanation.of(error))",
            underlying: error
        )
    }

    /// The error of a retrier that failed, with the error that it had to decide about, as Alamofire writes it.
    public static func requestRetryFailed(retryError: any Error, originalError: any Error) -> CurlewError {
        var error = CurlewError(
            .retryFailed,
            phase: .retry,
            reason: "Request retry failed with retry error: \(Explanation.of(retryError)), "
                + "original error: \(Explanation.of(originalError))",
            underlying: RequestRetryFailure(retryError: retryError, originalError: originalError)
        )
        if let original = originalError as? CurlewError { error.takePlace(of: original) }
        return error
    }

    /// The error of a validation, as Alamofire writes it.
    public static func responseValidationFailed(reason: ResponseValidationFailureReason) -> CurlewError {
        var error = CurlewError(reason.code, phase: .validation, reason: reason.explanation, underlying: reason)
        if case .unacceptableStatusCode(let code) = reason { error.responseCode = code }
        return error
    }

    /// The error of a serializer, as Alamofire writes it.
    public static func responseSerializationFailed(reason: ResponseSerializationFailureReason) -> CurlewError {
        CurlewError(reason.code, phase: .decoding, reason: reason.explanation, underlying: reason)
    }

    /// The error of a request whose session was deinitialized, as Alamofire writes it.
    public static var sessionDeinitialized: CurlewError {
        CurlewError(
            .sessionClosed,
            phase: .lifecycle,
            reason: "Session was deinitialized before the request ended; keep a reference to it.",
            underlying: SessionClosedReason.deinitialized
        )
    }

    /// The error of a request whose session was invalidated, as Alamofire writes it.
    public static func sessionInvalidated(error: (any Error)?) -> CurlewError {
        CurlewError(
            .sessionClosed,
            phase: .lifecycle,
            reason: "Session was invalidated" + (error.map { " with error: \(Explanation.of($0))" } ?? "."),
            underlying: SessionClosedReason.invalidated(error: error)
        )
    }

    /// The error of a downloaded file that could not be moved to its destination, as Alamofire writes it.
    public static func downloadedFileMoveFailed(error: any Error, source: URL, destination: URL) -> CurlewError {
        CurlewError(
            FileErrorCode.of(error),
            phase: .file,
            reason: "Moving the downloaded file to its destination failed with error: \(Explanation.of(error))",
            underlying: DownloadedFileMoveFailure(error: error, source: source, destination: destination)
        )
    }
}

extension CurlewError {
    /// Copies the context of `original`: URL, attempt, metrics, native error, response and resume data.
    package mutating func takePlace(of original: CurlewError) {
        url = original.url
        attempt = original.attempt
        metrics = original.metrics
        native = original.native
        responseCode = original.responseCode
        responseBody = original.responseBody
        downloadResumeData = original.downloadResumeData
    }
}
