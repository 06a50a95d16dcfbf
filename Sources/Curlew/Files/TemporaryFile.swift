internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// A file that is being written. It is private, has a unique name, and is removed unless it gets its final name or is
/// kept, for instance for a later resume.
///
/// A download calls `write` on the transport's thread. All other methods may block for long and are called on a
/// `FileLane`.
final class TemporaryFile: Sendable {
    private let file: OpenFile
    /// Whether the file has been placed, kept or discarded.
    private let hasEnd = Lock(false)

    /// Takes over an open file, which must have been locked for writing.
    init(_ file: OpenFile) { self.file = file }

    deinit { discard() }

    /// The current location of the file.
    var url: URL { URL(filePath: file.path) }

    /// Creates an empty file in `directory`.
    static func create(in directory: String) throws(CurlewError) -> TemporaryFile {
        let file = try OpenFile.create(TemporaryName.make(in: directory))
        // The lock keeps downloads from resuming the file while it is written.
        _ = file.lockForWriting()
        return TemporaryFile(file)
    }

    // MARK: Writing and reading

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(CurlewError) {
        try file.write(bytes, at: offset)
    }

    /// Calls `body` with the written bytes, in order.
    func forEachPiece(
        in range: Range<Int64>,
        _ body: (UnsafeRawBufferPointer, Int64) throws(CurlewError) -> Void
    ) throws(CurlewError) {
        try FileCopy.forEachPiece(of: file, in: range, body)
    }

    // MARK: Ending

    /// Closes the file after `move` has given it its final name. If that fails, the file is removed. A file that has been
    /// placed, kept or discarded stays as it is.
    func place(_ move: (OpenFile) throws(CurlewError) -> Void) throws(CurlewError) {
        guard claimEnd() else { return }
        do throws(CurlewError) {
            try move(file)
            file.close()
        } catch {
            remove()
            throw error
        }
    }

    /// Closes the file and leaves it in its place.
    func keep() {
        guard claimEnd() else { return }
        file.close()
    }

    /// Closes and removes the file.
    func discard() {
        guard claimEnd() else { return }
        remove()
    }

    /// Returns whether the caller decides the end of the file, because nobody has before.
    private func claimEnd() -> Bool { hasEnd.withLock { !exchange(&$0, with: true) } }

    private func remove() {
        unlink(file.path)
        file.close()
    }
}

/// Generates names for temporary files.
enum TemporaryName {
    /// A hidden name that shows an administrator which program created the file.
    static func make(in directory: String) -> String {
        (directory == "/" ? "" : directory) + "/" + PartialFileName.make(.random(in: .min ... .max))
    }
}

/// Moves a finished file to its final name. At every moment that name is the old file or the complete new one. Blocks.
enum FileMove {
    /// Moves `file` from its path to `destination`. Copies it if the destination is on another file system or the
    /// file's own name has been removed. A symbolic link at the destination is replaced, not followed.
    static func move(_ file: OpenFile, to destination: String, replacing: Bool) throws(CurlewError) {
        if replacing {
            // Without this a power cut could lose the old file before the new one is on the disk.
            if FileSystem.exists(destination) { try file.synchronize() }
        } else if FileSystem.exists(destination) {
            throw FileFailure.error(EEXIST, "moving the download to", destination)
        }
        switch rename(file.path, destination, replacing: replacing) {
        case 0: return
        case EXDEV: break
        case EISDIR: throw FileFailure.directoryInTheWay(destination)
        // The temporary file or its directory was removed. The open file still has the bytes.
        case ENOENT
        where !FileSystem.exists(file.path) && FileSystem.isDirectory(FileSystem.parent(of: destination)):
            break
        case let number: throw FileFailure.error(number, "moving the download to", destination)
        }
        try copy(file, to: destination, replacing: replacing)
    }

    private static func copy(_ file: OpenFile, to destination: String, replacing: Bool) throws(CurlewError) {
        try TemporaryFile.create(in: FileSystem.parent(of: destination)).place { copy throws(CurlewError) in
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
        if FileSystem.exists(destination) { return EEXIST }
        return systemRename(source, destination) == 0 ? 0 : errno
    }
}

private func systemRename(_ source: String, _ destination: String) -> Int32 { rename(source, destination) }
