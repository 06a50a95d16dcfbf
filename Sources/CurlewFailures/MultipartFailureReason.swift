public import CurlewCore
public import Foundation

extension CurlewError {
    /// Why a multipart body cannot be made; `underlying` of `.multipartEncodingFailed`.
    public enum MultipartEncodingFailureReason: Error {
        /// The part's URL does not name a file.
        case bodyPartURLInvalid(url: URL)
        /// The URL's last component is empty, or has no extension from which a media type follows.
        case bodyPartFilenameInvalid(in: URL)
        /// There is no such file, or it may not be read.
        case bodyPartFileNotReachable(at: URL)
        /// Looking for the file failed.
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        /// The URL names a directory.
        case bodyPartFileIsDirectory(at: URL)
        /// The system does not say how long the file is.
        case bodyPartFileSizeNotAvailable(at: URL)
        /// Asking for the file's length failed.
        case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
        /// The file cannot be opened for reading.
        case bodyPartInputStreamCreationFailed(for: URL)
        /// A header of a part that would break out of its line.
        case bodyPartHeaderInvalid(name: String)
        /// The file to write to cannot be opened.
        case outputStreamCreationFailed(for: URL)
        /// There is a file already where the body was to be written.
        case outputStreamFileAlreadyExists(at: URL)
        /// The place to write to is not a file URL.
        case outputStreamURLInvalid(url: URL)
        /// Writing the encoded body failed.
        case outputStreamWriteFailed(error: any Error)
        /// Reading a part failed.
        case inputStreamReadFailed(error: any Error)
    }

    /// A part that held more or fewer bytes than were declared.
    public struct UnexpectedInputStreamLength: Error, Hashable {
        /// How many bytes the part was said to have.
        public var bytesExpected: UInt64
        /// How many bytes there were.
        public var bytesRead: UInt64

        /// Creates the error of a part whose length is not the one that was given.
        public init(bytesExpected: UInt64, bytesRead: UInt64) {
            self.bytesExpected = bytesExpected
            self.bytesRead = bytesRead
        }
    }
}
