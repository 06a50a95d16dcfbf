internal import Foundation

/// Files and standard input.
enum InputFile {
    /// The whole content.
    static func read(_ path: String) throws(UsageError) -> [UInt8] {
        let path = expanded(path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw UsageError("cannot read \(path): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        do {
            return try readAll(descriptor)
        } catch {
            throw UsageError("cannot read \(path): \(error.text)")
        }
    }

    static func readAll(_ descriptor: Int32) throws(OutputFile.Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try readPiece(descriptor) { bytes += piece }
        return bytes
    }

    /// The next bytes; nil at the end.
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

    /// Whether there may be input: a pipe, a socket or a file, not a terminal, not /dev/null.
    static var isStandardInputFed: Bool { isFed(STDIN_FILENO) }

    private static func isFed(_ descriptor: Int32) -> Bool {
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return false }
        let kind = info.st_mode & S_IFMT
        return kind == S_IFIFO || kind == S_IFREG || kind == S_IFSOCK
    }

    /// Whether bytes can be read: a file has not ended, or a pipe or socket gets some within so many milliseconds. It waits
    /// no longer than until the first byte or the end.
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

    /// Whether a read would not block, be it for bytes, the end or an error.
    static func isReady(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    static func length(_ path: String) -> Int64? {
        var info = stat()
        guard stat(expanded(path), &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(info.st_size)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// `~/` at the beginning, which the shell does not see behind `@`.
    static func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = getenv("HOME") else { return path }
        return String(cString: home) + path.dropFirst()
    }
}
