internal import Foundation

/// A descriptor for output. Writes are complete and not buffered.
struct OutputFile: Sendable {
    /// A failed read or write, for example because the reader of a pipe has gone or the disk is full.
    struct Failure: Error, Equatable {
        let code: Int32

        var isBrokenPipe: Bool { code == EPIPE }

        var text: String { String(cString: strerror(code)) }
    }

    let descriptor: Int32

    static let standardOutput = OutputFile(descriptor: STDOUT_FILENO)
    static let standardError = OutputFile(descriptor: STDERR_FILENO)

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
                // Another program has made the terminal non-blocking. Wait until it accepts more.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Foundation.poll(&poll, 1, -1)
            } else if errno != EINTR {
                throw Failure(code: errno)
            }
        }
    }
}
