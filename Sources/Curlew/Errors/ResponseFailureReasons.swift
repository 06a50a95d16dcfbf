public import CurlewCore
public import Foundation

extension CurlewError {
    /// Why a response was not acceptable; `underlying` of `.unacceptableStatus`, `.unacceptableContentType`
    /// and `.validationFailed`.
    public enum ResponseValidationFailureReason: Error {
        case dataFileNil
        case dataFileReadFailed(at: URL)
        case missingContentType(acceptableContentTypes: [String])
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        case unacceptableStatusCode(code: Int)
        case customValidationFailed(error: any Error)
    }

    /// Why a body could not be turned into a value; `underlying` of `.decodingFailed`.
    public enum ResponseSerializationFailureReason: Error {
        case inputDataNilOrZeroLength
        case inputFileNil
        case inputFileReadFailed(at: URL)
        case stringSerializationFailed(encoding: String.Encoding)
        case jsonSerializationFailed(error: any Error)
        case decodingFailed(error: any Error)
        case customSerializationFailed(error: any Error)
        case invalidEmptyResponse(type: String)
    }

    /// Why a file could not be put in its place; `underlying` of `.destinationExists`, `.destinationMissing`,
    /// `.diskFull` and `.moveFailed`.
    public struct DownloadedFileMoveFailure: Error {
        public let error: any Error
        public let source: URL
        public let destination: URL

        public init(error: any Error, source: URL, destination: URL) {
            self.error = error
            self.source = source
            self.destination = destination
        }
    }
}
