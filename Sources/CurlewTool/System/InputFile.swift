internal import Foundation

/// Reads files and standard input.
enum InputFile {
    /// The maximum number of bytes read from a pipe or device. They are kept in memory, and their number is not known
    /// in advance.
    static let streamLimit = 256 << 20

    /// Returns the whole content.
    static func read(_ path: String, streamLimit: Int = Self.streamLimit) throws(UsageError) -> [UInt8] {
        let path = expanded(path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw UsageError("cannot read \(path): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        let limit = isStream(descriptor) ? streamLimit : .max
        let bytes: [UInt8]
        do {
            bytes = try readAll(descriptor, upTo: limit)
        } catch {
            throw UsageError("cannot read \(path): \(error.text)")
        }
        guard bytes.count <= limit else {
            throw UsageError(
                "cannot read \(path): it has no length, and more than \(Amount.bytes(Int64(limit))) of data",
                hint: "'COMMAND | curlew --chunked URL' sends a body of any length while it arrives. "
                    + "Regular files may be larger, too."
            )
        }
        return bytes
    }

    /// Reads to the end. If there are more than `limit` bytes, returns slightly more than `limit`.
    static func readAll(_ descriptor: Int32, upTo limit: Int = .max) throws(OutputFile.Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= limit, let piece = try readPiece(descriptor) { bytes += piece }
        return bytes
    }

    /// Whether the length is not known before the end, and the bytes may be readable only once. This is so for a
    /// device, and for a pipe, as `@<(command)` makes one.
    static func isStream(_ path: String) -> Bool {
        var info = stat()
        return stat(expanded(path), &info) == 0 && isStream(info)
    }

    private static func isStream(_ descriptor: Int32) -> Bool {
        var info = stat()
        return fstat(descriptor, &info) == 0 && isStream(info)
    }

    private static func isStream(_ info: stat) -> Bool {
        let kind = info.st_mode & S_IFMT
        return kind == S_IFIFO || kind == S_IFCHR || kind == S_IFSOCK
    }

    /// Returns the next bytes, or `nil` at the end.
    static func readPiece(_ descriptor: Int32, limit: Int = 65536) throws(OutputFile.Failure) -> [UInt8]? {
        while true {
            var code: Int32 = 0
            let piece = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                let got = Foundation.read(descriptor, buffer.baseAddress, limit)
                code = got < 0 ? errno : 0
                count = max(0, got)
            }
            if code == EINTR { continue }
            guard code == 0 else { throw OutputFile.Failure(code: code) }
            return piece.isEmpty ? nil : piece
        }
    }

    /// Whether standard input may have bytes: a pipe, a socket or a file, but not a terminal or `/dev/null`.
    static var isStandardInputFed: Bool { isFed(STDIN_FILENO) }

    private static func isFed(_ descriptor: Int32) -> Bool {
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return false }
        let kind = info.st_mode & S_IFMT
        return kind == S_IFIFO || kind == S_IFREG || kind == S_IFSOCK
    }

    /// Whether bytes can be read. Waits up to `milliseconds` for the first byte or the end of a pipe or socket.
    static func hasBytes(_ descriptor: Int32 = STDIN_FILENO, within milliseconds: Int32) -> Bool {
        guard isFed(descriptor) else { return false }
        var info = stat()
        if fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG {
            return lseek(descriptor, 0, SEEK_CUR) < info.st_size
        }
        _ = isReady(descriptor, within: milliseconds)
        var waiting: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting > 0
    }

    /// Whether a read returns at once, with bytes, the end or an error. Waits up to `milliseconds` for one of them.
    static func isReady(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        let end = ContinuousClock.now.advanced(by: .milliseconds(milliseconds))
        while true {
            let left = max(.zero, ContinuousClock.now.duration(to: end)) / .milliseconds(1)
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = poll(&entry, 1, Int32(left.rounded(.up)))
            // A signal interrupts the wait. It says nothing about the input.
            if count >= 0 || errno != EINTR { return count > 0 }
        }
    }

    static func length(_ path: String) -> Int64? {
        var info = stat()
        guard stat(expanded(path), &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(info.st_size)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Expands a `~/` at the beginning, which the shell does not expand after `@`.
    static func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = getenv("HOME") else { return path }
        return String(cString: home) + path.dropFirst()
    }
}
