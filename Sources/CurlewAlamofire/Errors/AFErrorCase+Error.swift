public import Curlew

extension CurlewError {
    /// Creates the error that corresponds to Alamofire's case. `error.afError` returns the case.
    public init(_ errorCase: AFErrorCase) {
        self =
            switch errorCase {
            case .createUploadableFailed(let error): .createUploadableFailed(error: error)
            case .createURLRequestFailed(let error): .createURLRequestFailed(error: error)
            case .downloadedFileMoveFailed(let error, let source, let destination):
                .downloadedFileMoveFailed(error: error, source: source, destination: destination)
            case .explicitlyCancelled: .explicitlyCancelled
            case .invalidURL(let url): .invalidURL(url: url)
            case .multipartEncodingFailed(let reason): .multipartEncodingFailed(reason: reason)
            case .parameterEncodingFailed(let reason): .parameterEncodingFailed(reason: reason)
            case .parameterEncoderFailed(let reason): .parameterEncoderFailed(reason: reason)
            case .requestAdaptationFailed(let error): .requestAdaptationFailed(error: error)
            case .requestRetryFailed(let retryError, let originalError):
                .requestRetryFailed(retryError: retryError, originalError: originalError)
            case .responseValidationFailed(let reason): .responseValidationFailed(reason: reason)
            case .responseSerializationFailed(let reason): .responseSerializationFailed(reason: reason)
            case .serverTrustEvaluationFailed(let reason): .serverTrustEvaluationFailed(reason: reason)
            case .sessionDeinitialized: .sessionDeinitialized
            case .sessionInvalidated(let error): .sessionInvalidated(error: error)
            case .sessionTaskFailed(let error as CurlewError): error
            case .sessionTaskFailed(let error): .sessionTaskFailed(error: error)
            case .urlRequestValidationFailed(let reason): .urlRequestValidationFailed(reason: reason)
            }
    }
}

extension AFErrorCase {
    /// The error that corresponds to the case. Code that throws `AFErrorCase` can throw `error.afError` instead.
    public var afError: AFError { AFError(self) }
}
