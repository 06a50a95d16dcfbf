internal import CurlewCore
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A file that is open for reading. The last reference closes it.
final class ReadableFile: Sendable {
    private let descriptor: Int32
    private let path: String

    init(_ url: URL) throws(CurlewError) {
        path = url.path
        descriptor = systemOpen(path)
        guard descriptor >= 0 else { throw Self.failure("opening", path) }
    }

    deinit { _ = systemClose(descriptor) }

    /// Fills `buffer` from `offset`, up to the end of the file. Returns the number of bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(CurlewError) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            if errno != EINTR { throw Self.failure("reading", path) }
        }
    }

    private static func failure(_ action: String, _ path: String) -> CurlewError {
        let number = errno
        return CurlewError(
            .fileUnreadable,
            phase: .creation,
            reason: "\(action) \(path): \(String(cString: strerror(number)))",
            underlying: POSIXErrorCode(rawValue: number).map { POSIXError($0) },
            native: .init(number: Int(number), name: FileFailure.name(of: number))
        )
    }
}

private func systemOpen(_ path: String) -> Int32 {
    while true {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor >= 0 || errno != EINTR { return descriptor }
    }
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
