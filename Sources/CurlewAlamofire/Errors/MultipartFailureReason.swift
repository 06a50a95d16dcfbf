public import Curlew
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

extension CurlewError {
    /// The error of a multipart form, as Alamofire writes it.
    public static func multipartEncodingFailed(reason: MultipartEncodingFailureReason) -> CurlewError { reason.error }
}

extension CurlewError.MultipartEncodingFailureReason {
    init?(of error: CurlewError) {
        let inside = error.thrownError
        switch error.detail {
        case .file(let url, let flaw)?: self.init(url, flaw, inside)
        case .header(let name)?: self = .bodyPartHeaderInvalid(name: name)
        case .length(let declared, let actual)?:
            self = .inputStreamReadFailed(
                error: CurlewError.UnexpectedInputStreamLength(bytesExpected: declared, bytesRead: actual))
        case .reading?: self = .inputStreamReadFailed(error: inside ?? error)
        case .writing?: self = .outputStreamWriteFailed(error: inside ?? error)
        default: return nil
        }
    }

    private init(_ url: URL, _ flaw: CurlewError.FileFlaw, _ inside: (any Error)?) {
        switch flaw {
        case .notFileURL: self = .bodyPartURLInvalid(url: url)
        case .unnamed: self = .bodyPartFilenameInvalid(in: url)
        case .unreachable:
            self =
                inside.map { .bodyPartFileNotReachableWithError(atURL: url, error: $0) }
                ?? .bodyPartFileNotReachable(at: url)
        case .directory: self = .bodyPartFileIsDirectory(at: url)
        case .sizeUnknown:
            self =
                inside.map { .bodyPartFileSizeQueryFailedWithError(forURL: url, error: $0) }
                ?? .bodyPartFileSizeNotAvailable(at: url)
        case .unreadable: self = .bodyPartInputStreamCreationFailed(for: url)
        case .outputNotFileURL: self = .outputStreamURLInvalid(url: url)
        case .outputExists: self = .outputStreamFileAlreadyExists(at: url)
        case .outputNotCreated: self = .outputStreamCreationFailed(for: url)
        }
    }

    fileprivate var error: CurlewError {
        switch self {
        case .bodyPartURLInvalid(let url): .formFile(url, .notFileURL)
        case .bodyPartFilenameInvalid(let url): .formFile(url, .unnamed)
        case .bodyPartFileNotReachable(let url): .formFile(url, .unreachable)
        case .bodyPartFileNotReachableWithError(let url, let error): .formFile(url, .unreachable, error)
        case .bodyPartFileIsDirectory(let url): .formFile(url, .directory)
        case .bodyPartFileSizeNotAvailable(let url): .formFile(url, .sizeUnknown)
        case .bodyPartFileSizeQueryFailedWithError(let url, let error): .formFile(url, .sizeUnknown, error)
        case .bodyPartInputStreamCreationFailed(let url): .formFile(url, .unreadable)
        case .bodyPartHeaderInvalid(let name): .formHeader(name)
        case .outputStreamCreationFailed(let url): .formFile(url, .outputNotCreated)
        case .outputStreamFileAlreadyExists(let url): .formFile(url, .outputExists)
        case .outputStreamURLInvalid(let url): .formFile(url, .outputNotFileURL)
        case .outputStreamWriteFailed(let error): .formNotWritten(error)
        case .inputStreamReadFailed(let error): .formNotRead(error)
        }
    }

    var underlyingError: (any Error)? {
        switch self {
        case .bodyPartFileNotReachableWithError(_, let error), .bodyPartFileSizeQueryFailedWithError(_, let error),
            .outputStreamWriteFailed(let error), .inputStreamReadFailed(let error):
            error
        default: nil
        }
    }
}
