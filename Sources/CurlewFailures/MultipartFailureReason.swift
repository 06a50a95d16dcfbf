public import CurlewCore
public import Foundation

extension CurlewError {
    /// The reason that a multipart body could not be encoded; `underlying` of `.multipartEncodingFailed`.
    public enum MultipartEncodingFailureReason: Error {
        /// The part's URL is not a file URL.
        case bodyPartURLInvalid(url: URL)
        /// The URL's last component is empty, or has no extension that determines a media type.
        case bodyPartFilenameInvalid(in: URL)
        /// The file does not exist or may not be read.
        case bodyPartFileNotReachable(at: URL)
        /// The check for the file failed.
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        /// The URL names a directory.
        case bodyPartFileIsDirectory(at: URL)
        /// The system does not report the file's size.
        case bodyPartFileSizeNotAvailable(at: URL)
        /// The query for the file's size failed.
        case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
        /// The file cannot be opened for reading.
        case bodyPartInputStreamCreationFailed(for: URL)
        /// A header of a part contains a line break.
        case bodyPartHeaderInvalid(name: String)
        /// The output file cannot be opened.
        case outputStreamCreationFailed(for: URL)
        /// The output file exists already.
        case outputStreamFileAlreadyExists(at: URL)
        /// The output URL is not a file URL.
        case outputStreamURLInvalid(url: URL)
        /// Writing the encoded body failed.
        case outputStreamWriteFailed(error: any Error)
        /// Reading a part failed.
        case inputStreamReadFailed(error: any Error)
    }

    /// A part with more or fewer bytes than declared.
    public struct UnexpectedInputStreamLength: Error, Hashable {
        /// The declared number of bytes.
        public var bytesExpected: UInt64
        /// The actual number of bytes.
        public var bytesRead: UInt64

        /// Creates the error of a part whose length differs from the declared one.
        public init(bytesExpected: UInt64, bytesRead: UInt64) {
            self.bytesExpected = bytesExpected
            self.bytesRead = bytesRead
        }
    }
}
