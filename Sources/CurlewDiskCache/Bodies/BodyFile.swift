internal import Foundation
internal import Glibc

/// An open file with a stored body. It can be read to its end although its entry is removed meanwhile.
final class BodyFile: Sendable {
    private let descriptor: Int32

    /// Opens the file of an entry; nil where there is none of this size. On a lane.
    init?(_ path: String, size: Int64) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == size else {
            return nil
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // The last reference to a removed file frees its blocks, which takes time.
        Lane.nextForBodies().enqueue { [descriptor] in close(descriptor) }
    }

    /// Reads exactly so many bytes; nil where the file does not have them. On a lane.
    func read(_ count: Int, at offset: Int64) -> Data? {
        guard let buffer = malloc(count) else { return nil }
        var done = 0
        while done < count {
            let read = pread(descriptor, buffer + done, count - done, off_t(offset) + done)
            if read < 0, errno == EINTR { continue }
            guard read > 0 else {
                free(buffer)
                return nil
            }
            done += read
        }
        return Data(bytesNoCopy: buffer, count: count, deallocator: .free)
    }
}
