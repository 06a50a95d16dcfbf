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
    private static let companions = ["-journal", "-wal", "-shm"]

    private func removeCompanions() {
        for end in Self.companions { unlink(index + end) }
    }
}

extension CacheFolder {
    /// The contents of a directory, as far as its names tell.
    private enum Kind: Equatable, Sendable {
        /// The directory does not exist.
        case missing
        /// The directory is empty, or contains a store that is being created.
        case empty
        case cache
        /// The directory contains files that no store has created, or is no directory.
        case other
        /// The directory cannot be read; the value is `errno`.
        case unreadable(Int32)
    }

    /// Throws if the directory contains no store, unless `creates` is set and a store can be created without touching
    /// other files.
    func expectStore(orRoomForOne creates: Bool) throws(CurlewError) {
        switch kind {
        case .cache: return
        case .other:
            let reason = "\(path) has files that no cache has made, or is no directory. It is left as it is"
            throw CurlewError(.destinationExists, phase: .file, reason: reason)
        // Creating the store reports more precisely why a directory cannot be read.
        case .missing where creates, .empty where creates, .unreadable where creates: return
        case .missing, .empty:
            throw CurlewError(.destinationMissing, phase: .file, reason: "There is no cache in \(path)")
        case .unreadable(let code): throw SystemFault(errno: code).error(self)
        }
    }

    private var kind: Kind {
        guard let stream = opendir(path) else {
            let code = errno
            var status = stat()
            switch code {
            case ENOENT: return .missing
            // The path names a file. Otherwise a file is further up in the path.
            case ENOTDIR where stat(path, &status) == 0: return .other
            default: return .unreadable(code)
            }
        }
        closedir(stream)
        let names = Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
        // A store creates the index last, and removes it for a moment when it is cleared, so the index is not required.
        if names.isSuperset(of: ["bodies", "lock"]) { return .cache }
        return names.isSubset(of: Self.namesBeforeTheIndex) ? .empty : .other
    }

    /// The names that a process may have left if it ended while it created a store, and those that file systems create.
    private static let namesBeforeTheIndex: Set<String> = ["bodies", "lock", "lost+found"]
}

// A user who can write these files can choose the responses that the store's user gets, and read what is stored.
extension CacheFolder {
    /// Throws unless the directory and the store's files in it belong to this user and no other user may write them.
    ///
    /// If a umask let other users write this user's directory, their permission is removed first. Files that they may
    /// have created before are refused.
    ///
    /// The directory is opened and checked by its descriptor. After that only its owner can change its names, so the
    /// files are checked by name and not opened. In particular, closing a second descriptor of SQLite's files would
    /// release SQLite's locks.
    private func expectOwn() throws(SystemFault) {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw SystemFault(errno: errno) }
        defer { close(directory) }
        var status = stat()
        var named = stat()
        guard lstat(path, &named) == 0, fstat(directory, &status) == 0 else { throw SystemFault(errno: errno) }
        if named.st_mode & S_IFMT == S_IFLNK {
            // Another user's symbolic link leads to a directory of that user's choice.
            guard named.st_uid == geteuid() else {
                throw .untrusted("\(path) is a symbolic link of user \(named.st_uid)")
            }
            guard stat(path, &named) == 0 else { throw SystemFault(errno: errno) }
        }
        if named.st_dev != status.st_dev || named.st_ino != status.st_ino {
            // The path named a link to this user's directory when it was opened, and something else when it was checked.
            throw .untrusted("\(path) was replaced while it was opened")
        }
        if status.st_uid == geteuid(), status.mayBeWrittenByOthers {
            let mode = status.st_mode & 0o7777 & ~(S_IWGRP | S_IWOTH)
            guard fchmod(directory, mode) == 0, fstat(directory, &status) == 0 else { throw SystemFault(errno: errno) }
        }
        try Self.expectOwn(path, status, S_IFDIR)
        for (name, kind) in Self.names {
            guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                guard errno == ENOENT else { throw SystemFault(errno: errno) }
                continue
            }
            try Self.expectOwn(path + "/" + name, status, kind)
        }
    }

    private static let names: [(String, mode_t)] =
        [("bodies", S_IFDIR), ("lock", S_IFREG), ("index.sqlite", S_IFREG)]
        + companions.map { ("index.sqlite" + $0, S_IFREG) }

    private static func expectOwn(_ name: String, _ status: stat, _ kind: mode_t) throws(SystemFault) {
        guard status.st_mode & S_IFMT == kind else { throw .untrusted("\(name) is not what a store has made") }
        guard status.st_uid == geteuid() else { throw .untrusted("\(name) belongs to user \(status.st_uid)") }
        guard !status.mayBeWrittenByOthers else {
            throw .untrusted("other users may write \(name) (mode \(String(status.st_mode & 0o7777, radix: 8)))")
        }
    }
}

extension stat {
    var mayBeWrittenByOthers: Bool { st_mode & (S_IWGRP | S_IWOTH) != 0 }
}

/// The `flock` lock of an open file. It belongs to the open descriptor: a second `open` of the file competes for it,
/// even in the same process.
enum FileLock {
    /// Takes the lock, waiting up to `patience` for its holder.
    ///
    /// `flock` either waits without a limit or not at all, so this function polls.
    static func take(_ descriptor: Int32, patience: Duration) throws(SystemFault) {
        var deadline: ContinuousClock.Instant?
        var pause: UInt32 = 500
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR else { throw SystemFault(errno: code) }
            let (now, end) = (ContinuousClock.now, deadline ?? .now.advanced(by: patience))
            guard now < end else { throw .lockedOut(patience) }
            deadline = end
            usleep(pause)
            pause = min(pause * 2, 20_000)
        }
    }

    /// Releases the lock. Call it before closing the descriptor: a child process that is being started has a copy of
    /// the descriptor until it runs its program, and the copy would keep the lock.
    static func release(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }
}
