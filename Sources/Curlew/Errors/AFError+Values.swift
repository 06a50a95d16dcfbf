public import CurlewCore
public import Foundation

extension CurlewError {
    /// The value that is no URL.
    public var urlConvertible: (any URLConvertible)? { (underlying as? InvalidURLReason)?.url }

    /// The error inside this one: what an encoder, adapter, decoder or the system said. Where the exchange failed
    /// and nobody said anything, the `URLError` that stands for the code, for code that asks for one.
    public var underlyingError: (any Error)? {
        switch underlying {
        case let reason as ParameterEncodingFailureReason: reason.underlyingError
        case let reason as ParameterEncoderFailureReason: reason.underlyingError
        case let reason as MultipartEncodingFailureReason: reason.underlyingError
        case let reason as ResponseValidationFailureReason: reason.underlyingError
        case let reason as ResponseSerializationFailureReason: reason.underlyingError
        case let reason as ServerTrustFailureReason: reason.underlyingError
        case let failure as RequestRetryFailure: failure.retryError
        case let failure as DownloadedFileMoveFailure: failure.error
        case let reason as SessionClosedReason: reason.underlyingError
        case is InvalidURLReason, is URLRequestValidationFailureReason: nil
        case let error?: error
        case nil: URLError.Code(standingFor: self).map { URLError($0, url: url) }
        }
    }

    /// The content types that validation would have accepted.
    public var acceptableContentTypes: [String]? {
        switch underlying as? ResponseValidationFailureReason {
        case .missingContentType(let types)?, .unacceptableContentType(let types, _)?: types
        default: nil
        }
    }

    /// The content type that validation refused.
    public var responseContentType: String? {
        guard case .unacceptableContentType(_, let type)? = underlying as? ResponseValidationFailureReason else {
            return nil
        }
        return type
    }

    /// The encoding in which the body is not a text.
    public var failedStringEncoding: String.Encoding? {
        guard case .stringSerializationFailed(let encoding)? = underlying as? ResponseSerializationFailureReason else {
            return nil
        }
        return encoding
    }

    /// Where a downloaded file was when it could not be moved.
    public var sourceURL: URL? { (underlying as? DownloadedFileMoveFailure)?.source }

    /// Where a downloaded file could not be moved to.
    public var destinationURL: URL? { (underlying as? DownloadedFileMoveFailure)?.destination }
}

extension CurlewError.ParameterEncodingFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .missingURL: nil
        case .jsonEncodingFailed(let error), .propertyListEncodingFailed(let error), .customEncodingFailed(let error):
            error
        }
    }
}

extension CurlewError.ParameterEncoderFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .missingRequiredComponent: nil
        case .encoderFailed(let error): error
        }
    }
}

extension CurlewError.MultipartEncodingFailureReason {
    /// The file, or what was taken for one.
    var url: URL? {
        switch self {
        case .bodyPartURLInvalid(let url), .bodyPartFilenameInvalid(let url), .bodyPartFileNotReachable(let url),
            .bodyPartFileNotReachableWithError(let url, _), .bodyPartFileIsDirectory(let url),
            .bodyPartFileSizeNotAvailable(let url), .bodyPartFileSizeQueryFailedWithError(let url, _),
            .bodyPartInputStreamCreationFailed(let url), .outputStreamCreationFailed(let url),
            .outputStreamFileAlreadyExists(let url), .outputStreamURLInvalid(let url):
            url
        case .bodyPartHeaderInvalid, .outputStreamWriteFailed, .inputStreamReadFailed: nil
        }
    }

    var underlyingError: (any Error)? {
        switch self {
        case .bodyPartFileNotReachableWithError(_, let error), .bodyPartFileSizeQueryFailedWithError(_, let error),
            .outputStreamWriteFailed(let error), .inputStreamReadFailed(let error):
            error
        case .bodyPartURLInvalid, .bodyPartFilenameInvalid, .bodyPartFileNotReachable, .bodyPartFileIsDirectory,
            .bodyPartFileSizeNotAvailable, .bodyPartInputStreamCreationFailed, .bodyPartHeaderInvalid,
            .outputStreamCreationFailed, .outputStreamFileAlreadyExists, .outputStreamURLInvalid:
            nil
        }
    }
}

extension CurlewError.ResponseValidationFailureReason {
    var underlyingError: (any Error)? {
        guard case .customValidationFailed(let error) = self else { return nil }
        return error
    }
}

extension CurlewError.ResponseSerializationFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .jsonSerializationFailed(let error), .decodingFailed(let error), .customSerializationFailed(let error):
            error
        case .inputDataNilOrZeroLength, .inputFileNil, .inputFileReadFailed, .stringSerializationFailed,
            .invalidEmptyResponse:
            nil
        }
    }
}

extension CurlewError.SessionClosedReason {
    var underlyingError: (any Error)? {
        guard case .invalidated(let error) = self else { return nil }
        return error
    }
}
