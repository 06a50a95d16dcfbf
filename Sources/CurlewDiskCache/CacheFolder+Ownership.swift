internal import Glibc

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
    func expectOwn() throws(SystemFault) {
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
