internal import Glibc

/// The file of a body that no process is writing. This value holds the file's lock.
struct UnusedBody: ~Copyable {
    private let path: String
    private let descriptor: Int32

    /// `nil` if the file does not exist, its writer is alive, or another collector has removed it; in the last case the
    /// path may name a new file of another writer.
    init?(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            FileLock.release(descriptor)
            close(descriptor)
            return nil
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        FileLock.release(descriptor)
        close(descriptor)
    }

    func remove() { unlink(path) }
}
