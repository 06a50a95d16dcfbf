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

/// Generates names for temporary files.
enum TemporaryName {
    /// A hidden name that shows an administrator which program created the file.
    static func make(in directory: String) -> String {
        (directory == "/" ? "" : directory) + "/" + PartialFileName.make(.random(in: .min ... .max))
    }
}

/// Chooses the directory of a download's temporary file, and creates the destination's directory.
enum DestinationDirectory {
    /// Returns the destination's directory if a file can be created there, so that the final move is a rename.
    /// Otherwise returns the directory for temporary files.
    static func forTemporaryFile(beside destination: URL?) -> String {
        if let destination {
            let parent = FileMove.parent(of: destination.path(percentEncoded: false))
            if FileMove.isDirectory(parent), access(parent, W_OK | X_OK) == 0 { return parent }
        }
        return temporary
    }

    /// TMPDIR, or the system's temporary directory.
    static var temporary: String {
        let path = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Creates `path` and its missing parents. Returns the directories that were created, outermost first.
    static func create(_ path: String) throws(CurlewError) -> [String] {
        var missing: [String] = []
        var current = path
        while !FileMove.exists(current), current != "/", current != "." {
            missing.append(current)
            current = FileMove.parent(of: current)
        }
        var made: [String] = []
        for directory in missing.reversed() {
            if mkdir(directory, 0o777) == 0 {
                made.append(directory)
            } else if errno != EEXIST {
                let number = errno
                removeIfEmpty(made)
                throw FileFailure.error(number, "making the directory", directory)
            }
        }
        return made
    }

    /// Removes directories that `create` made, unless they contain something.
    static func removeIfEmpty(_ directories: [String]) {
        for directory in directories.reversed() { rmdir(directory) }
    }
}

private func systemRename(_ source: String, _ destination: String) -> Int32 { rename(source, destination) }
