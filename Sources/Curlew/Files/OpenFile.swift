internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// An open file. The lock keeps a write on one thread from overlapping with a close on another: the system could give
/// the descriptor's number to another file at once.
final class OpenFile: Sendable {
    let path: String
    private let descriptor: Lock<Int32>

    private static let closed: Int32 = -1

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = Lock(descriptor)
    }

    deinit { close() }

    /// Creates a file that only this user can read. Fails if the path exists, even as a symbolic link.
    static func create(_ path: String) throws(CurlewError) -> OpenFile {
        try open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, "creating")
    }

    /// Opens an existing file for reading and writing. Fails if the path is a symbolic link.
    static func existing(_ path: String) throws(CurlewError) -> OpenFile {
        try open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, "opening")
    }

    /// Opens an existing file for reading only. O_NONBLOCK: opening a FIFO would otherwise wait for a writer, and hold
    /// its file lane for ever; reading it fails.
    static func reading(_ path: String) throws(CurlewError) -> OpenFile {
        try open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, "opening")
    }

    private static func open(_ path: String, _ flags: Int32, _ action: String) throws(CurlewError) -> OpenFile {
        while true {
            let descriptor = systemOpen(path, flags, 0o600)
            if descriptor >= 0 { return OpenFile(path: path, descriptor: descriptor) }
            if errno != EINTR { throw FileFailure.error(errno, action, path) }
        }
    }

    /// Writes all `bytes` at `offset`. Blocks the calling thread.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(CurlewError) {
        try descriptor.withLock { descriptor throws(CurlewError) in
            var done = 0
            while done < bytes.count {
                let count = pwrite(
                    descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset) + off_t(done))
                if count > 0 {
                    done += count
                } else if count == 0 || errno != EINTR {
                    throw FileFailure.error(count == 0 ? ENOSPC : errno, "writing", path)
                }
            }
        }
    }

    /// Fills `buffer` from `offset`, up to the end of the file. Returns the number of bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(CurlewError) -> Int {
        try descriptor.withLock { descriptor throws(CurlewError) in
            while true {
                let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                if count >= 0 { return count }
                if errno != EINTR { throw FileFailure.error(errno, "reading", path) }
            }
        }
    }

    func status() throws(CurlewError) -> stat {
        try call("examining") { descriptor, result in fstat(descriptor, &result) }
    }

    func truncate(to size: Int64) throws(CurlewError) {
        _ = try call("truncating") { descriptor, _ in ftruncate(descriptor, off_t(size)) }
    }

    /// Waits until the bytes are on the disk.
    func synchronize() throws(CurlewError) {
        _ = try call("flushing") { descriptor, _ in fsync(descriptor) }
    }

    func setPermissions(_ mode: mode_t) throws(CurlewError) {
        _ = try call("setting the permissions of") { descriptor, _ in fchmod(descriptor, mode) }
    }

    /// Locks the file until it is closed. Returns `false` if it is locked elsewhere. A file system without locks counts
    /// as success.
    ///
    /// Waits up to 100 ms: a child of this process shares the locks of the parent's files between its fork and its
    /// exec, even if the parent has closed them meanwhile.
    func lockForWriting() -> Bool {
        for _ in 0..<50 {
            if descriptor.withLock({ flock($0, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }) { return true }
            usleep(2000)
        }
        return false
    }

    /// Whether the path still names this file, and no other path does. Ask while the file is locked: the former holder
    /// of the lock may have moved or removed it.
    func isInPlace() -> Bool {
        var named = stat()
        guard let own = try? status(), lstat(path, &named) == 0 else { return false }
        return own.st_nlink == 1 && own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    func close() {
        descriptor.withLock { descriptor in
            guard descriptor != Self.closed else { return }
            // Linux has released the number even if the call fails.
            _ = systemClose(descriptor)
            descriptor = Self.closed
        }
    }

    private func call(
        _ action: String,
        _ body: (Int32, inout stat) -> Int32
    ) throws(CurlewError) -> stat {
        try descriptor.withLock { descriptor throws(CurlewError) in
            var result = stat()
            while body(descriptor, &result) != 0 {
                if errno != EINTR { throw FileFailure.error(errno, action, path) }
            }
            return result
        }
    }
}

/// The file of a form's part, open for reading only. It is closed when the last copy is released.
struct ReadableFile: Sendable {
    private let file: OpenFile

    init(_ url: URL) throws(CurlewError) {
        do throws(CurlewError) { file = try .reading(url.path) } catch { throw Self.unreadable(error, in: .creation) }
    }

    /// Fills `buffer` from `offset`, up to the end of the file. Returns the number of bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(CurlewError) -> Int {
        do throws(CurlewError) { return try file.read(into: buffer, at: offset) } catch {
            throw Self.unreadable(error, in: .file)
        }
    }

    private static func unreadable(_ failure: CurlewError, in phase: CurlewError.Phase) -> CurlewError {
        let number = failure.native.flatMap { Int32(exactly: $0.number) }
        return CurlewError(
            .fileUnreadable,
            phase: phase,
            reason: failure.reason,
            underlying: number.flatMap(POSIXErrorCode.init(rawValue:)).map { POSIXError($0) },
            native: failure.native
        )
    }
}

/// Copies and reads files in pieces. Blocks.
enum FileCopy {
    private static let pieceSize = 256 * 1024

    static func copy(from source: OpenFile, to target: OpenFile) throws(CurlewError) {
        try forEachPiece(of: source, in: 0..<Int64.max) { bytes, offset throws(CurlewError) in
            try target.write(bytes, at: offset)
        }
    }

    /// Calls `body` with consecutive pieces of `range`, up to the end of the file.
    static func forEachPiece(
        of file: OpenFile,
        in range: Range<Int64>,
        _ body: (UnsafeRawBufferPointer, Int64) throws(CurlewError) -> Void
    ) throws(CurlewError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(Int64(pieceSize), range.upperBound - offset))
            let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
            if count == 0 { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]), offset)
            offset += Int64(count)
        }
    }
}

/// Questions about paths. Blocks, because the answers may have to be read from the disk.
enum FileSystem {
    /// Whether the path exists in any form. A dangling symbolic link counts.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Whether the path is a directory, and not a link to one.
    static func isDirectoryItself(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// The permissions of a finished file, as `open` with mode 0666 would set them.
enum FilePermissions {
    /// The mode of a new file under the process's umask. umask(2) cannot read the mask without changing it for all
    /// threads for a moment, so it is read from `/proc/self/status`. Without that the file stays private.
    static func ofNewFile() -> mode_t {
        guard let mask = currentMask() else { return 0o600 }
        return 0o666 & ~mask
    }

    static func currentMask() -> mode_t? {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
        return mask(inStatus: status)
    }

    static func mask(inStatus status: String) -> mode_t? {
        for line in status.split(separator: "\n") where line.hasPrefix("Umask:") {
            return mode_t(line.dropFirst(6).trimmingPrefix(while: \.isWhitespace), radix: 8)
        }
        return nil
    }
}

/// Makes errors from the system's error numbers for files.
enum FileFailure {
    /// `action` describes the operation, for example "writing". `path` is shown unchanged.
    static func error(_ number: Int32, _ action: String, _ path: String) -> CurlewError {
        let (code, cocoa) = classify(number)
        var error = CurlewError(
            code,
            phase: .file,
            reason: "\(action) \(path): \(String(cString: strerror(number)))",
            underlying: CocoaError(cocoa, userInfo: [NSFilePathErrorKey: path]),
            native: CurlewError.NativeCode(number: Int(number), name: name(of: number))
        )
        if code == .destinationExists {
            error.suggestion = "Choose another name, or replace the file with the option .removePreviousFile."
        }
        return error
    }

    /// The error for a directory at the destination. A directory is never replaced by a file.
    static func directoryInTheWay(_ path: String) -> CurlewError {
        var error = error(EISDIR, "moving the download to", path)
        error.reason = "moving the download to \(path): a directory of that name is in the way"
        return error
    }

    /// Returns Curlew's code, and the Cocoa error that code written for Alamofire may look for in `underlying`.
    static func classify(_ number: Int32) -> (CurlewError.Code, CocoaError.Code) {
        switch number {
        case ENOSPC, EDQUOT, EFBIG: (.diskFull, .fileWriteOutOfSpace)
        case ENOENT, ENOTDIR: (.destinationMissing, .fileNoSuchFile)
        case EEXIST: (.destinationExists, .fileWriteFileExists)
        case EACCES, EPERM: (.moveFailed, .fileWriteNoPermission)
        case EROFS: (.moveFailed, .fileWriteVolumeReadOnly)
        case ENAMETOOLONG, EINVAL: (.moveFailed, .fileWriteInvalidFileName)
        default: (.moveFailed, .fileWriteUnknown)
        }
    }

    static func name(of number: Int32) -> String {
        switch number {
        case EACCES: "EACCES"
        case EBADF: "EBADF"
        case EDQUOT: "EDQUOT"
        case EEXIST: "EEXIST"
        case EFBIG: "EFBIG"
        case EINVAL: "EINVAL"
        case EIO: "EIO"
        case EISDIR: "EISDIR"
        case ELOOP: "ELOOP"
        case EMFILE: "EMFILE"
        case ENAMETOOLONG: "ENAMETOOLONG"
        case ENFILE: "ENFILE"
        case ENOENT: "ENOENT"
        case ENOSPC: "ENOSPC"
        case ENOTDIR: "ENOTDIR"
        case ENOTEMPTY: "ENOTEMPTY"
        case EPERM: "EPERM"
        case EROFS: "EROFS"
        case EXDEV: "EXDEV"
        default: "errno"
        }
    }
}

private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
