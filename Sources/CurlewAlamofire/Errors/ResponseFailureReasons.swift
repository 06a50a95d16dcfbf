public import Curlew
public import Foundation

extension CurlewError {
    /// The reason that a response was rejected; `underlying` of `.unacceptableStatus`, `.unacceptableContentType`,
    /// `.validationFailed` and, for a downloaded file, `.fileUnreadable`.
    public enum ResponseValidationFailureReason: Error {
        /// The downloaded file to validate is missing.
        case dataFileNil
        /// The downloaded file cannot be read.
        case dataFileReadFailed(at: URL)
        /// The response has no content type, and only some types are accepted.
        case missingContentType(acceptableContentTypes: [String])
        /// The response's content type is not accepted.
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        /// The status code is not accepted.
        case unacceptableStatusCode(code: Int)
        /// A custom validator rejected the response.
        case customValidationFailed(error: any Error)
    }

    /// The reason that a body could not be converted into a value; `underlying` of `.decodingFailed` and, for a
    /// downloaded file, `.fileUnreadable`.
    public enum ResponseSerializationFailureReason: Error {
        /// There is no body, and an empty one is not acceptable.
        case inputDataNilOrZeroLength
        /// The downloaded file to read is missing.
        case inputFileNil
        /// The downloaded file cannot be read.
        case inputFileReadFailed(at: URL)
        /// The body is not text in this encoding.
        case stringSerializationFailed(encoding: String.Encoding)
        /// The body is not JSON.
        case jsonSerializationFailed(error: any Error)
        /// The decoder could not decode the body.
        case decodingFailed(error: any Error)
        /// A custom serializer failed.
        case customSerializationFailed(error: any Error)
        /// The response may be empty, but the type has no value for an empty body.
        case invalidEmptyResponse(type: String)
    }

    /// The reason that a downloaded file could not be moved; `underlying` of `.destinationExists`,
    /// `.destinationMissing`, `.diskFull` and `.moveFailed`.
    public struct DownloadedFileMoveFailure: Error {
        /// The error of the file system.
        public let error: any Error
        /// The location of the downloaded file.
        public let source: URL
        /// The intended destination.
        public let destination: URL

        /// Creates the error of a failed move.
        public init(error: any Error, source: URL, destination: URL) {
            self.error = error
            self.source = source
            self.destination = destination
        }
    }
}

extension CurlewError {
    /// The error of a validation, as Alamofire writes it.
    public static func responseValidationFailed(reason: ResponseValidationFailureReason) -> CurlewError {
        switch reason {
        case .dataFileNil: .fileMissing(in: .validation)
        case .dataFileReadFailed(let url): .fileUnreadable(url, in: .validation)
        case .missingContentType(let types): .unacceptableContentType(nil, accepted: types)
        case .unacceptableContentType(let types, let type): .unacceptableContentType(type, accepted: types)
        case .unacceptableStatusCode(let code): .unacceptableStatus(code)
        case .customValidationFailed(let error): .validationFailed(error)
        }
    }

    /// The error of a serializer, as Alamofire writes it.
    public static func responseSerializationFailed(reason: ResponseSerializationFailureReason) -> CurlewError {
        switch reason {
        case .inputDataNilOrZeroLength: .bodyMissing
        case .inputFileNil: .fileMissing(in: .decoding)
        case .inputFileReadFailed(let url): .fileUnreadable(url, in: .decoding)
        case .stringSerializationFailed(let encoding): .bodyNotText(encoding)
        case .jsonSerializationFailed(let error): .bodyNotJSON(error)
        case .decodingFailed(let error): .bodyNotDecoded(error)
        case .customSerializationFailed(let error): .serializerFailed(error)
        case .invalidEmptyResponse(let type): .bodyMissing(for: type)
        }
    }

    /// The error of a downloaded file that could not be moved to its destination, as Alamofire writes it.
    public static func downloadedFileMoveFailed(error: any Error, source: URL, destination: URL) -> CurlewError {
        let failure = CurlewError(
            FileErrorCode.of(error),
            phase: .file,
            reason: Explanation.of(error),
            underlying: error
        )
        return .fileNotMoved(failure, from: source, to: destination)
    }
}

extension CurlewError.ResponseValidationFailureReason {
    init?(of error: CurlewError) {
        let inside = error.thrownError
        switch error.detail {
        case .noFile?: self = .dataFileNil
        case .file(let url, _)?: self = .dataFileReadFailed(at: url)
        case .contentTypes(let accepted, nil)?: self = .missingContentType(acceptableContentTypes: accepted)
        case .contentTypes(let accepted, let received?)?:
            self = .unacceptableContentType(acceptableContentTypes: accepted, responseContentType: received)
        case .custom?: self = .customValidationFailed(error: inside ?? error)
        case nil:
            guard error.code == .unacceptableStatus, inside == nil, let status = error.statusOfResponse else {
                return nil
            }
            self = .unacceptableStatusCode(code: status)
        default: return nil
        }
    }

    var underlyingError: (any Error)? {
        guard case .customValidationFailed(let error) = self else { return nil }
        return error
    }
}

extension CurlewError.ResponseSerializationFailureReason {
    init?(of error: CurlewError) {
        let inside = error.thrownError ?? error
        switch error.detail {
        case .emptyBody?: self = .inputDataNilOrZeroLength
        case .noFile?: self = .inputFileNil
        case .file(let url, _)?: self = .inputFileReadFailed(at: url)
        case .text(let encoding)?: self = .stringSerializationFailed(encoding: encoding)
        case .json?: self = .jsonSerializationFailed(error: inside)
        case .coder?: self = .decodingFailed(error: inside)
        case .custom?: self = .customSerializationFailed(error: inside)
        case .noValue(let type)?: self = .invalidEmptyResponse(type: type)
        default: return nil
        }
    }

    var underlyingError: (any Error)? {
        switch self {
        case .jsonSerializationFailed(let error), .decodingFailed(let error), .customSerializationFailed(let error):
            error
        default: nil
        }
    }
}

extension CurlewError.DownloadedFileMoveFailure {
    init?(of error: CurlewError) {
        guard case .move(let source, let destination)? = error.detail else { return nil }
        self.init(error: error.thrownError ?? error, source: source, destination: destination)
    }
}
