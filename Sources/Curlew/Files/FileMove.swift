internal import CurlewCore
internal import Foundation
internal import Glibc

/// Moves a finished file to its final name. At every moment that name is the old file or the complete new one. Blocks.
enum FileMove {
    /// Moves `file` from its path to `destination`. Copies it if the destination is on another file system or the
    /// file's own name has been removed. A symbolic link at the destination is replaced, not followed.
    static func move(_ file: OpenFile, to destination: String, replacing: Bool) throws(CurlewError) {
        if replacing {
            // Without this a power cut could lose the old file before the new one is on the disk.
            if exists(destination) { try file.synchronize() }
        } else if exists(destination) {
            throw FileFailure.error(EEXIST, "moving the download to", destination)
        }
        switch rename(file.path, destination, replacing: replacing) {
        case 0: return
        case EXDEV: break
        case EISDIR: throw FileFailure.directoryInTheWay(destination)
        // The temporary file or its directory was removed. The open file still has the bytes.
        case ENOENT where !exists(file.path) && isDirectory(parent(of: destination)): break
        case let number: throw FileFailure.error(number, "moving the download to", destination)
        }
        try copy(file, to: destination, replacing: replacing)
    }

    private static func copy(_ file: OpenFile, to destination: String, replacing: Bool) throws(CurlewError) {
        try TemporaryFile.create(in: parent(of: destination)).place { copy throws(CurlewError) in
            try FileCopy.copy(from: file, to: copy)
            try copy.setPermissions(try file.status().st_mode & 0o7777)
            try copy.synchronize()
            let number = rename(copy.path, destination, replacing: replacing)
            if number == EISDIR { throw FileFailure.directoryInTheWay(destination) }
            if number != 0 { throw FileFailure.error(number, "moving the download to", destination) }
        }
        unlink(file.path)
    }

    /// Renames a file. Without `replacing`, an existing destination is an error. Returns 0 or `errno`.
    static func rename(_ source: String, _ destination: String, replacing: Bool) -> Int32 {
        if replacing {
            return systemRename(source, destination) == 0 ? 0 : errno
        }
        // rename(2) replaces any file at the destination. link(2) fails instead, so it checks and moves in one step.
        if link(source, destination) == 0 {
            unlink(source)
            return 0
        }
        // The file system has no hard links.
        guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK else { return errno }
        if exists(destination) { return EEXIST }
        return systemRename(source, destination) == 0 ? 0 : errno
    }

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

private func systemRename(_ source: String, _ destination: String) -> Int32 { rename(source, destination) }
