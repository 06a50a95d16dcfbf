internal import CurlewCore
internal import Foundation
internal import Glibc

/// The directory of a store and its files.
///
///     index.sqlite (-journal)   the index and the small bodies
///     bodies/<id>               one large body each
///     lock                      held while an index is opened or replaced
struct CacheFolder: Sendable {
    let path: String

    init(_ directory: URL) {
        var path = directory.path(percentEncoded: false)
        // With a trailing slash the system follows a symbolic link, and the ownership of the link itself would not be
        // checked.
        while path.utf8.count > 1, path.hasSuffix("/") || path.hasSuffix("/.") { path.removeLast() }
        self.path = path
    }

    var index: String { path + "/index.sqlite" }
    var bodies: String { path + "/bodies" }
    func body(_ id: EntryID) -> String { bodies + "/" + id.text }

    /// The ids of all body files, with or without an entry.
    func bodyIDs() -> [EntryID] {
        ((try? FileManager.default.contentsOfDirectory(atPath: bodies)) ?? []).compactMap { EntryID($0) }
    }

    func removeBody(_ id: EntryID) { unlink(body(id)) }

    /// Creates the missing directories, accessible to this user only. `bodies` is created only if the store's directory
    /// belongs to this user.
    func make() throws(SystemFault) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/" + part
            try Self.make(made)
        }
        try expectOwn()
        try Self.make(bodies)
    }

    private static func make(_ directory: String) throws(SystemFault) {
        guard mkdir(directory, 0o700) != 0, errno != EEXIST else { return }
        // The process may be forbidden to read the parent directories. It is enough that they exist.
        let code = errno
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { throw SystemFault(errno: code) }
    }

    /// Runs `work` while no other process, and no other store of this process, opens or replaces the index.
    ///
    /// The lock is usually held for milliseconds, or for as long as a statement waits for a busy index. A process that
    /// is stopped in the middle keeps it, so `patience` limits the wait.
    func locked<R>(patience: Duration, _ work: () throws(SystemFault) -> R) throws(SystemFault) -> R {
        try expectOwn()
        let descriptor = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemFault(errno: errno) }
        defer {
            FileLock.release(descriptor)
            close(descriptor)
        }
        try FileLock.take(descriptor, patience: patience)
        return try work()
    }

    /// Creates an index file that only this user can access, if there is none. SQLite gives its companion files the
    /// same mode.
    ///
    /// An existing file is never opened here: closing a descriptor of a file that SQLite has open in this process would
    /// release SQLite's locks.
    func makeIndexFile() throws(SystemFault) {
        let descriptor = open(index, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor < 0 else {
            close(descriptor)
            // The companions of an index that was removed without them do not belong to the new one.
            removeCompanions()
            return
        }
        guard errno == EEXIST else { throw SystemFault(errno: errno) }
    }

    /// Removes the index. Connections to it notice that it has moved and do not touch the files of the new one.
    func removeIndex() {
        unlink(index)
        removeCompanions()
    }

    /// The suffixes of the index's companion files. A store creates only a journal. SQLite also reads the others if the
    /// index says so.
    static let companions = ["-journal", "-wal", "-shm"]

    private func removeCompanions() {
        for end in Self.companions { unlink(index + end) }
    }
}
