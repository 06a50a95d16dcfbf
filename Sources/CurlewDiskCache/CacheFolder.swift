internal import CurlewCore
internal import Foundation
internal import Glibc

/// Where the files of a store lie.
///
///     index.sqlite (-journal)   the index and the small bodies
///     bodies/<id>               one large body each
///     lock                      held while an index is opened or replaced
struct CacheFolder: Sendable {
    let path: String

    init(_ directory: URL) {
        var path = directory.path(percentEncoded: false)
        // With a slash at the end the system follows a link, and ownership is not checked for the link itself.
        while path.utf8.count > 1, path.hasSuffix("/") || path.hasSuffix("/.") { path.removeLast() }
        self.path = path
    }

    var index: String { path + "/index.sqlite" }
    var bodies: String { path + "/bodies" }
    func body(_ id: EntryID) -> String { bodies + "/" + id.text }

    /// The bodies that there are, whether they have an entry or not.
    func bodyIDs() -> [EntryID] {
        ((try? FileManager.default.contentsOfDirectory(atPath: bodies)) ?? []).compactMap { EntryID($0) }
    }

    func removeBody(_ id: EntryID) { unlink(body(id)) }

    /// Makes the directories that are missing, for this user alone. Nothing is made in a directory that is not this user's.
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
        // This process may be forbidden to read the parent directories; they only need to exist.
        let code = errno
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { throw SystemFault(errno: code) }
    }

    /// Runs `work` while no other process, and no other store of this one, opens or replaces the index. Others hold the
    /// lock for milliseconds, or for as long as a statement waits for a busy index. A process that was stopped in the
    /// middle keeps it, so `patience` says how long it is waited for.
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

    /// Sees to it that there is an index file, which only this user can read. SQLite gives the files beside it the same mode.
    ///
    /// Only a file that is new is opened here: closing a descriptor of one that SQLite has open in this process would give up
    /// SQLite's own locks.
    func makeIndexFile() throws(SystemFault) {
        let descriptor = open(index, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor < 0 else {
            close(descriptor)
            // Files beside an index that was removed without them say nothing of this one.
            removeCompanions()
            return
        }
        guard errno == EEXIST else { throw SystemFault(errno: errno) }
    }

    /// Removes the index. Connections to it notice that it has moved, and leave the files of the new one alone.
    func removeIndex() {
        unlink(index)
        removeCompanions()
    }

    /// The endings of the names of files beside an index. A store makes only a journal; SQLite also reads the others if the
    /// index says so.
    static let companions = ["-journal", "-wal", "-shm"]

    private func removeCompanions() {
        for end in Self.companions { unlink(index + end) }
    }
}
