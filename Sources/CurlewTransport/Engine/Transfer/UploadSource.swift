internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// The source of an upload's bytes. The caller creates it; from then on it is used in the loop's turns only.
final class UploadSource {
    enum Chunk {
        case bytes(Int)
        case pending
        case end
        case failed(CurlewError)
    }

    private enum Kind {
        case data(Data)
        case file(UploadFile)
        case stream(any BodyStream)
    }

    private let kind: Kind
    /// The announced length; `nil` if only the source knows its end.
    let length: Int64?
    private(set) var position: Int64 = 0
    private(set) var hasEnded = false

    private init(_ kind: Kind, length: Int64?) {
        self.kind = kind
        self.length = length
    }

    convenience init(_ data: Data) { self.init(.data(data), length: Int64(data.count)) }
    convenience init(_ file: UploadFile) { self.init(.file(file), length: file.length) }
    /// A negative `length` means an unknown length, as in Foundation.
    convenience init(_ stream: any BodyStream, length: Int64?) {
        self.init(.stream(stream), length: length.flatMap { $0 < 0 ? nil : $0 })
    }

    /// Creates the source of a body that is read piece by piece, and opens its file. `nil` if the request has no such
    /// body.
    static func make(for request: TransferRequest) throws(CurlewError) -> UploadSource? {
        switch request.body {
        case .none: return nil
        case .data(let data): return data.count > RequestPlan.piecewiseThreshold ? UploadSource(data) : nil
        case .file(let url, let range): return UploadSource(try UploadFile(url, range: range))
        case .stream(let stream, let length): return UploadSource(stream, length: length)
        }
    }

    /// Whether the source must be opened before it is read, and closed afterwards.
    var isStream: Bool { if case .stream = kind { true } else { false } }

    func open(waker: any BodyWaker) {
        guard case .stream(let stream) = kind else { return }
        stream.open(waker: waker)
    }

    func close() {
        guard case .stream(let stream) = kind else { return }
        stream.close()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Chunk {
        if hasEnded { return .end }
        let wanted = length.map { Int(min(Int64(buffer.count), $0 - position)) } ?? buffer.count
        if wanted == 0 {
            hasEnded = true
            return .end
        }
        let chunk = fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
        switch chunk {
        case .bytes(let count):
            position += Int64(count)
            if position == length { hasEnded = true }
        case .end:
            hasEnded = true
            if let length, position < length { return .failed(endedEarly(length)) }
        case .pending, .failed: break
        }
        return chunk
    }

    var canStartAgain: Bool {
        switch kind {
        case .data, .file: true
        case .stream(let stream): stream.isReplayable || (position == 0 && !hasEnded)
        }
    }

    /// Moves to `offset`, which is 0 in practice. Returns false if the source cannot.
    func seek(to offset: Int64) -> Bool {
        switch kind {
        case .data, .file:
            position = offset
        case .stream(let stream):
            guard offset == 0 else { return false }
            if position > 0 || hasEnded, !stream.rewind() { return false }
            position = 0
        }
        hasEnded = false
        return true
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Chunk {
        switch kind {
        case .data(let data):
            let start = data.startIndex + Int(position)
            data.copyBytes(to: buffer, from: start..<(start + buffer.count))
            return .bytes(buffer.count)
        case .file(let file): return file.read(at: position, into: buffer)
        case .stream(let stream):
            switch stream.read(into: buffer) {
            case .bytes(let count):
                // A source that claims more bytes than the buffer holds must not make libcurl read past its end.
                guard count > 0, count <= buffer.count else {
                    return .failed(
                        CurlewError(
                            .invalidBody, phase: .send, reason: "the body does not have the length that it announced"))
                }
                return .bytes(count)
            case .pending: return .pending
            case .end: return .end
            case .failed(let error): return .failed(error)
            }
        }
    }

    private func endedEarly(_ length: Int64) -> CurlewError {
        CurlewError(
            .bodyUnavailable,
            phase: .send,
            reason: "the body ended after \(position) of \(length) bytes"
        )
    }
}

/// Wakes a transfer for the source of its body. A source may keep the waker forever. Closing the body therefore
/// releases the transfer, which owns the source.
final class TransferWaker: BodyWaker {
    private let transfer: Lock<ActiveTransfer?>

    init(_ transfer: ActiveTransfer) { self.transfer = Lock(transfer) }

    func wake() { transfer.withLock { $0 }?.send(.wakeBody) }

    func release() {
        // Released outside of the lock: it may be the last reference to the source, whose `deinit` is user code.
        _ = transfer.withLock { transfer in exchange(&transfer, with: nil) }
    }
}

/// The file of a body, opened in the caller's task and read in the loop's turns. It is closed with the last reference.
///
/// It is opened before the transfer starts, because its errors (missing, unreadable, a directory) must not cost a
/// connection.
final class UploadFile: Sendable {
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
