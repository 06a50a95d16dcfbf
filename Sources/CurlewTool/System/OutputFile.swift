internal import Foundation

/// Where output goes: a descriptor, written to at once and whole.
struct OutputFile: Sendable {
    /// The reader of a pipe has gone, or the disk is full.
    struct Failure: Error, Equatable {
        let code: Int32

        var isBrokenPipe: Bool { code == EPIPE }

        var text: String { String(cString: strerror(code)) }
    }

    let descriptor: Int32

    static let standardOutput = OutputFile(descriptor: STDOUT_FILENO)
    static let standardError = OutputFile(descriptor: STDERR_FILENO)

    /// Creates or empties the file.
    static func create(_ path: String) throws(Failure) -> OutputFile {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        return OutputFile(descriptor: descriptor)
    }

    /// The file of `--output`.
    static func destination(_ path: String?, otherwise output: OutputFile) throws(UsageError) -> OutputFile {
        guard let path else { return output }
        do throws(Failure) {
            return try create(InputFile.expanded(path))
        } catch {
            throw UsageError("cannot write \(path): \(error.text)")
        }
    }

    func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) throws(Failure) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Foundation.write(descriptor, buffer.baseAddress.map { $0 + offset }, buffer.count - offset)
            }
            if count > 0 {
                offset += count
            } else if errno == EAGAIN {
                // The terminal was made non-blocking: wait until it takes more.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Foundation.poll(&poll, 1, -1)
            } else if errno != EINTR {
                throw Failure(code: errno)
            }
        }
    }
}
