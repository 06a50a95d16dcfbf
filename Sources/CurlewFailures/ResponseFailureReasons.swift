public import CurlewCore
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
