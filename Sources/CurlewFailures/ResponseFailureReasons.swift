public import CurlewCore
public import Foundation

extension CurlewError {
    /// Why a response was not acceptable; `underlying` of `.unacceptableStatus`, `.unacceptableContentType`
    /// and `.validationFailed`.
    public enum ResponseValidationFailureReason: Error {
        /// There is no downloaded file to look at.
        case dataFileNil
        /// The downloaded file cannot be read.
        case dataFileReadFailed(at: URL)
        /// The response names no content type, and some would have been accepted.
        case missingContentType(acceptableContentTypes: [String])
        /// The response's content type is not among those that are accepted.
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        /// The status is not among those that are accepted.
        case unacceptableStatusCode(code: Int)
        /// A validator of your own refused the response.
        case customValidationFailed(error: any Error)
    }

    /// Why a body could not be turned into a value; `underlying` of `.decodingFailed`.
    public enum ResponseSerializationFailureReason: Error {
        /// There is no body, and an empty one is not acceptable.
        case inputDataNilOrZeroLength
        /// There is no downloaded file to read.
        case inputFileNil
        /// The downloaded file cannot be read.
        case inputFileReadFailed(at: URL)
        /// The body is not a text in this encoding.
        case stringSerializationFailed(encoding: String.Encoding)
        /// The body is not JSON.
        case jsonSerializationFailed(error: any Error)
        /// The decoder could not make the value of the body.
        case decodingFailed(error: any Error)
        /// A serializer of your own failed.
        case customSerializationFailed(error: any Error)
        /// The body may be empty, but the type has no value for that.
        case invalidEmptyResponse(type: String)
    }

    /// Why a file could not be put in its place; `underlying` of `.destinationExists`, `.destinationMissing`,
    /// `.diskFull` and `.moveFailed`.
    public struct DownloadedFileMoveFailure: Error {
        /// What the file system said.
        public let error: any Error
        /// Where the downloaded bytes are.
        public let source: URL
        /// Where the file was to go.
        public let destination: URL

        /// Creates the error of a move that failed.
        public init(error: any Error, source: URL, destination: URL) {
            self.error = error
            self.source = source
            self.destination = destination
        }
    }
}
