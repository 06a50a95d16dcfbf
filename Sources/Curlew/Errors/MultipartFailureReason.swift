public import CurlewCore
public import Foundation

extension CurlewError {
    /// Why a multipart body cannot be made; `underlying` of `.multipartEncodingFailed`.
    public enum MultipartEncodingFailureReason: Error {
        case bodyPartURLInvalid(url: URL)
        case bodyPartFilenameInvalid(in: URL)
        case bodyPartFileNotReachable(at: URL)
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        case bodyPartFileIsDirectory(at: URL)
        case bodyPartFileSizeNotAvailable(at: URL)
        case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
        case bodyPartInputStreamCreationFailed(for: URL)
        /// A header of a part that would break out of its line.
        case bodyPartHeaderInvalid(name: String)
        case outputStreamCreationFailed(for: URL)
        case outputStreamFileAlreadyExists(at: URL)
        case outputStreamURLInvalid(url: URL)
        case outputStreamWriteFailed(error: any Error)
        case inputStreamReadFailed(error: any Error)
    }

    /// A part that held more or fewer bytes than were declared.
    public struct UnexpectedInputStreamLength: Error, Hashable {
        public var bytesExpected: UInt64
        public var bytesRead: UInt64

        public init(bytesExpected: UInt64, bytesRead: UInt64) {
            self.bytesExpected = bytesExpected
            self.bytesRead = bytesRead
        }
    }
}
