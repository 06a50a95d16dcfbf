internal import CurlewCore
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Puts a finished file under its final name: at every moment that name is the old file or the whole new
/// one, never a part of it. Blocks.
enum FileMove {
    /// Moves `file` from its path to `destination`, by copying where that is on another file system or the
    /// file's own name is gone. A symbolic link at the destination is replaced, never followed.
    static func move(_ file: OpenFile, to destination: String, replacing: Bool) throws(CurlewError) {
        if replacing {
            // Without this a power cut could lose the old file and not yet have the new one.
            if exists(destination) { try file.synchronize() }
        } else if exists(destination) {
            throw FileFailure.error(EEXIST, "moving the download to", destination)
        }
        switch rename(file.path, destination, replacing: replacing) {
        case 0: return
        case EXDEV: break
        case EISDIR: throw FileFailure.directoryInTheWay(destination)
        // The temporary file or its directory was removed. The bytes are still there.
        case ENOENT where !exists(file.path) && isDirectory(parent(of: destination)): break
        case let number: throw FileFailure.error(number, "moving the download to", destination)
        }
        try copy(file, to: destination, replacing: replacing)
    }

    private static func copy(_ file: OpenFile, to destination: String, replacing: Bool) throws(CurlewError) {
        let copy = try OpenFile.create(TemporaryName.make(in: parent(of: destination)))
        do throws(CurlewError) {
            try FileCopy.copy(from: file, to: copy)
            try copy.setPermissions(try file.status().st_mode & 0o7777)
            try copy.synchronize()
            let number = rename(copy.path, destination, replacing: replacing)
            if number == EISDIR { throw FileFailure.directoryInTheWay(destination) }
            if number != 0 { throw FileFailure.error(number, "moving the download to", destination) }
        } catch {
            unlink(copy.path)
            throw error
        }
        unlink(file.path)
    }

    /// 0 or the error's number.
    static func rename(_ source: String, _ destination: String, replacing: Bool) -> Int32 {
        if replacing {
            return systemRename(source, destination) == 0 ? 0 : errno
        }
        // rename(2) replaces whatever is there. A hard link cannot: check and move in one step.
        if link(source, destination) == 0 {
            unlink(source)
            return 0
        }
        // File systems without hard links.
        guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK else { return errno }
        if exists(destination) { return EEXIST }
        return systemRename(source, destination) == 0 ? 0 : errno
    }

    /// Whether the name is taken, by whatever: a dangling symbolic link counts.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Whether there is a directory, and not a link to one.
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

/// Names that are not taken.
enum TemporaryName {
    /// Hidden, and telling an administrator where it comes from.
    static func make(in directory: String) -> String {
        (directory == "/" ? "" : directory) + "/" + PartialFileName.make(.random(in: .min ... .max))
    }
}

private func systemRename(_ source: String, _ destination: String) -> Int32 { rename(source, destination) }
