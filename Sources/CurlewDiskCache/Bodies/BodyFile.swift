internal import Foundation
internal import Glibc

/// Why a body cannot be read.
enum BodyFault: Error {
    /// It is not the one that was written: its entry is to be removed.
    case damaged
    /// There is no such file. It is lost, or it went with its entry after that was found: the index has the answer.
    case missing
    /// The system does not open or read it now (too many open files, no memory, not permitted, an input error). Nothing is
    /// wrong with the entry, as far as is known.
    case unavailable

    /// Of a system call that was given the file's name.
    init(errno number: Int32) {
        switch number {
        case ENOENT: self = .missing
        // A symbolic link, which no store has made.
        case ELOOP: self = .damaged
        default: self = .unavailable
        }
    }
}

/// An open file with a stored body. It can be read to its end although its entry is removed meanwhile.
final class BodyFile: Sendable {
    private let descriptor: Int32

    /// Opens the file of an entry, which has this size. On a lane.
    init(_ path: String, size: Int64) throws(BodyFault) {
        var opened: Int32
        repeat { opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw BodyFault(errno: errno) }
        descriptor = opened
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unavailable }
        guard Self.isBody(status, size: size) else { throw .damaged }
    }

    /// Finds out whether there is the file of an entry, without opening it. On a lane.
    static func expect(_ path: String, size: Int64) throws(BodyFault) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw BodyFault(errno: errno) }
        guard isBody(status, size: size) else { throw .damaged }
    }

    /// Whether it is the file that this user's store has written.
    private static func isBody(_ status: stat, size: Int64) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && Int64(status.st_size) == size && status.st_uid == geteuid()
            && !status.mayBeWrittenByOthers
    }

    deinit {
        // The last reference to a removed file frees its blocks, which takes time.
        Lane.nextForBodies().enqueue { [descriptor] in close(descriptor) }
    }

    /// Reads exactly so many bytes; `damaged` where the file does not have them. On a lane.
    func read(_ count: Int, at offset: Int64) throws(BodyFault) -> Data {
        guard let buffer = malloc(count) else { throw .unavailable }
        var done = 0
        while done < count {
            let read = pread(descriptor, buffer + done, count - done, off_t(offset) + done)
            if read < 0, errno == EINTR { continue }
            guard read > 0 else {
                free(buffer)
                throw read == 0 ? .damaged : .unavailable
            }
            done += read
        }
        return Data(bytesNoCopy: buffer, count: count, deallocator: .free)
    }
}
