internal import CurlewCore
internal import Foundation
internal import Glibc

/// The file of a body, opened in the caller's task and read on the loop. It is closed with the last reference.
///
/// It is opened before the transfer starts, because its errors (missing, unreadable, a directory) must not cost a
/// connection.
final class OpenFile: Sendable {
    private let fd: Int32
    private let path: String
    private let start: Int64
    /// `nil` if the system does not know the length, as for files in /proc: the body ends at the end of the file.
    let length: Int64?

    init(_ url: URL, range: Range<Int64>?) throws(CurlewError) {
        guard url.isFileURL else {
            throw Self.failure(EINVAL, Redaction.redacted(url).absoluteString, "not a file URL")
        }
        path = url.path(percentEncoded: false)
        // O_NONBLOCK: opening a FIFO would otherwise wait for a writer.
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard fd >= 0 else { throw Self.failure(errno, path) }
        var status = stat()
        guard fstat(fd, &status) == 0 else {
            let code = errno
            Glibc.close(fd)
            throw Self.failure(code, path)
        }
        let size = Int64(status.st_size)
        let kind = status.st_mode & S_IFMT
        let whole = range ?? 0..<size
        guard kind == S_IFREG, whole.lowerBound >= 0, whole.upperBound <= size else {
            Glibc.close(fd)
            if kind == S_IFREG { throw Self.failure(EINVAL, path, "the range is not within the file") }
            throw Self.failure(kind == S_IFDIR ? EISDIR : EINVAL, path, kind == S_IFDIR ? nil : "not a regular file")
        }
        self.fd = fd
        start = whole.lowerBound
        length = range == nil && size == 0 && Self.hasBytes(fd) ? nil : whole.upperBound - whole.lowerBound
    }

    private static func hasBytes(_ fd: Int32) -> Bool {
        var byte: UInt8 = 0
        return pread(fd, &byte, 1, 0) > 0
    }

    deinit { Glibc.close(fd) }

    func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> UploadSource.Chunk {
        while true {
            let count = pread(fd, buffer.baseAddress, buffer.count, off_t(start + position))
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno != EINTR { return .failed(Self.failure(errno, path)) }
        }
    }

    private static func failure(_ code: Int32, _ path: String, _ reason: String? = nil) -> CurlewError {
        CurlewError(
            .fileUnreadable,
            phase: .file,
            reason: "the file of the body, \(path), cannot be read: \(reason ?? SystemError.text(code))",
            native: SystemError.native(code)
        )
    }
}
