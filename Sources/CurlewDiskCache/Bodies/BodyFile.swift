internal import CurlewLocks
internal import Foundation
internal import Glibc

/// An open file with a stored body. It can be read to the end even if its entry is removed meanwhile.
final class BodyFile: Sendable {
    private let descriptor: Int32

    /// Opens the file of an entry with a body of this size. Call it on a lane; it blocks.
    init(_ path: String, size: Int64) throws(BodyFault) {
        var opened: Int32
        repeat { opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw BodyFault(errno: errno) }
        descriptor = opened
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unavailable }
        guard Self.isBody(status, size: size) else { throw .damaged }
    }

    /// Checks that the file of an entry exists, without opening it. Call it on a lane; it blocks.
    static func expect(_ path: String, size: Int64) throws(BodyFault) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw BodyFault(errno: errno) }
        guard isBody(status, size: size) else { throw .damaged }
    }

    /// Whether the file can be one that this user's store has written.
    private static func isBody(_ status: stat, size: Int64) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && Int64(status.st_size) == size && status.st_uid == geteuid()
            && !status.mayBeWrittenByOthers
    }

    deinit {
        // The last reference to a removed file frees its blocks, which takes time.
        Lane.nextForBodies().enqueue { [descriptor] in close(descriptor) }
    }

    /// Reads exactly `count` bytes. Throws `damaged` if the file ends earlier. Call it on a lane; it blocks.
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

/// The file of an entry that a lookup found. Opened at once or at the first read.
final class StoredFile: Sendable {
    private let path: String
    private let size: Int64
    private let opened: Lock<BodyFile?>

    /// Call it on a lane; it blocks.
    init(_ path: String, size: Int64, isOpen: Bool) throws(BodyFault) {
        self.path = path
        self.size = size
        if isOpen {
            opened = Lock(try BodyFile(path, size: size))
        } else {
            try BodyFile.expect(path, size: size)
            opened = Lock(nil)
        }
    }

    /// Returns the open file, which all readers of the body share. Call it on a lane; it blocks.
    func open() throws(BodyFault) -> BodyFile {
        if let file = opened.withLock({ $0 }) { return file }
        let file = try BodyFile(path, size: size)
        return opened.withLock { opened in
            // Another reader opened the file in the meantime. Its file is used, and this one closes.
            if let other = opened { return other }
            opened = file
            return file
        }
    }
}

/// The reason that a body cannot be read.
enum BodyFault: Error {
    /// The file does not contain the body that was stored. The entry should be removed.
    case damaged
    /// The file does not exist. Either it was lost, or its entry was removed after the lookup; the index tells which.
    case missing
    /// The system cannot open or read the file at the moment (too many open files, no memory, no permission, an input
    /// error). The entry may be intact.
    case unavailable

    /// Classifies the error of a system call that was given the file's name.
    init(errno number: Int32) {
        switch number {
        case ENOENT: self = .missing
        // The file is a symbolic link. No store creates one.
        case ELOOP: self = .damaged
        default: self = .unavailable
        }
    }
}
