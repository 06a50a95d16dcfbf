public import CurlewCore
public import Foundation

extension CurlewError {
    /// The content types that validation accepts; `nil` if validation did not fail for a content type.
    public var acceptableContentTypes: [String]? {
        switch underlying as? ResponseValidationFailureReason {
        case .missingContentType(let types)?, .unacceptableContentType(let types, _)?: types
        default: nil
        }
    }

    /// The content type that validation rejected; `nil` if validation did not fail for it.
    public var responseContentType: String? {
        guard case .unacceptableContentType(_, let type)? = underlying as? ResponseValidationFailureReason else {
            return nil
        }
        return type
    }

    /// The encoding in which the body could not be decoded; `nil` for other errors.
    public var failedStringEncoding: String.Encoding? {
        guard case .stringSerializationFailed(let encoding)? = underlying as? ResponseSerializationFailureReason else {
            return nil
        }
        return encoding
    }

    /// The location of a downloaded file that could not be moved; `nil` for other errors.
    public var sourceURL: URL? { (underlying as? DownloadedFileMoveFailure)?.source }

    /// The destination of a downloaded file that could not be moved; `nil` for other errors.
    public var destinationURL: URL? { (underlying as? DownloadedFileMoveFailure)?.destination }
}

extension CurlewError.ParameterEncodingFailureReason {
    package var underlyingError: (any Error)? {
        switch self {
        case .missingURL: nil
        case .jsonEncodingFailed(let error), .propertyListEncodingFailed(let error), .customEncodingFailed(let error):
            error
        }
    }
}

extension CurlewError.ParameterEncoderFailureReason {
    package var underlyingError: (any Error)? {
        switch self {
        case .missingRequiredComponent: nil
        case .encoderFailed(let error): error
        }
    }
}

extension CurlewError.MultipartEncodingFailureReason {
    /// The URL that caused the failure; `nil` if there is none.
    package var url: URL? {
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

    package var underlyingError: (any Error)? {
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
    package var underlyingError: (any Error)? {
        guard case .customValidationFailed(let error) = self else { return nil }
        return error
    }
}

extension CurlewError.ResponseSerializationFailureReason {
    package var underlyingError: (any Error)? {
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
    package var underlyingError: (any Error)? {
        guard case .invalidated(let error) = self else { return nil }
        return error
    }
}
