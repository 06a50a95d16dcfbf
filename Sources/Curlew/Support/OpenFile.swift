internal import CurlewCore
internal import CurlewLocks
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

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

    /// Opens an existing file, but no symbolic link.
    static func existing(_ path: String) throws(CurlewError) -> OpenFile {
        try open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, "opening")
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

    /// Locks the file until it is closed. Returns false if it is locked elsewhere; a file system without locks counts
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

private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
