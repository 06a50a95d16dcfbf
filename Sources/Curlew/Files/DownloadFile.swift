internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking
internal import Glibc

/// A file that is being written, usually by a download. It is private, has a unique name, and is removed unless it is
/// moved to its destination or kept, for instance for a later resume.
///
/// A download calls `write` on the transport's thread. All other methods may block for long and are called on a
/// `FileLane`.
final class DownloadFile: Sendable {
    private let file: OpenFile
    /// Whether the file has been moved, kept or discarded.
    private let isSettled = Lock(false)

    private init(_ file: OpenFile) { self.file = file }

    deinit { discard() }

    /// The current location of the file.
    var url: URL { URL(filePath: file.path) }

    /// Creates an empty file in `directory`.
    static func create(in directory: String) throws(CurlewError) -> DownloadFile {
        let file = try OpenFile.create(TemporaryName.make(in: directory))
        // The lock keeps other downloads from resuming the file while it is written.
        _ = file.lockForWriting()
        return DownloadFile(file)
    }

    /// Opens the file of an earlier download and cuts it to its first `size` bytes.
    ///
    /// Returns `nil`, and leaves the file as it was, if the file is shorter, was not created by a download, or is being
    /// written by another one.
    static func reopen(_ path: String, keeping size: Int64) -> DownloadFile? {
        guard let file = try? PartialFile.open(path, isFromOutside: false), let status = try? file.status(),
            Int64(status.st_size) >= size, file.lockForWriting(),
            // Bytes after `size` are not covered by the resume data.
            (try? file.truncate(to: size)) != nil
        else { return nil }
        return DownloadFile(file)
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

    /// Gives the file its final permissions and name. If that fails, the file is removed.
    ///
    /// With `keepsPrivate` the file stays readable by this user only, because the user chose no destination.
    func move(
        to destination: URL,
        options: DownloadRequest.Options,
        keepsPrivate: Bool = false
    ) throws(CurlewError) {
        guard settle() else { return }
        do throws(CurlewError) {
            if options.contains(.createIntermediateDirectories) {
                _ = try DestinationDirectory.create(FileMove.parent(of: destination.path(percentEncoded: false)))
            }
            if !keepsPrivate { try file.setPermissions(FilePermissions.ofNewFile()) }
            if options.contains(.synchronize) { try file.synchronize() }
            try FileMove.move(
                file,
                to: destination.path(percentEncoded: false),
                replacing: options.contains(.removePreviousFile)
            )
            file.close()
        } catch {
            remove()
            throw error
        }
    }

    /// Closes the file and leaves it in its place.
    func keep() {
        guard settle() else { return }
        file.close()
    }

    /// Closes and removes the file.
    func discard() {
        guard settle() else { return }
        remove()
    }

    private func settle() -> Bool { isSettled.withLock { !exchange(&$0, with: true) } }

    private func remove() {
        unlink(file.path)
        file.close()
    }
}

/// The state of the file that resume data names. The path comes from outside and must not give access to any other
/// file.
enum PartialFile {
    case there(size: Int64)
    case busy
    case gone

    static func look(at part: ResumeData) -> PartialFile {
        guard let file = try? open(part.file, isFromOutside: true), let status = try? file.status() else {
            return .gone
        }
        guard file.lockForWriting() else { return .busy }
        return .there(size: Int64(status.st_size))
    }

    /// Opens the partial file at `path` for reading and writing. Returns `nil` if there is none. Throws
    /// `.resumeRejected`, without touching the file, if it is not as a download leaves it.
    ///
    /// With `isFromOutside` the file must still be private. Otherwise this process has created it itself, possibly on a
    /// file system that shows all files with the same permissions.
    static func open(_ path: String, isFromOutside: Bool) throws(CurlewError) -> OpenFile? {
        guard
            PartialFileName.isMade(
                path.suffix(from: path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex))
        else { throw rejected(path, "its name is none that Curlew gives") }
        let file: OpenFile
        do throws(CurlewError) { file = try OpenFile.existing(path) } catch {
            switch error.native?.number ?? 0 {
            case Int(ELOOP): throw rejected(path, "it is a symbolic link")
            case Int(EISDIR), Int(ENXIO): throw rejected(path, "it is no regular file")
            case Int(EACCES), Int(EPERM): throw rejected(path, "it may not be written to")
            default: return nil
            }
        }
        let status = try file.status()
        if let flaw = flaw(in: status, allowing: isFromOutside ? 0o600 : 0o755) { throw rejected(path, flaw) }
        return file
    }

    private static func flaw(in status: stat, allowing mode: mode_t) -> String? {
        if status.st_mode & S_IFMT != S_IFREG { return "it is no regular file" }
        if status.st_uid != geteuid() { return "it belongs to another user" }
        if status.st_nlink != 1 { return "it has more than one name" }
        if status.st_mode & 0o7777 & ~mode != 0 { return "others have a right to it" }
        return nil
    }

    private static func rejected(_ path: String, _ flaw: String) -> CurlewError {
        CurlewError(
            .resumeRejected,
            phase: .creation,
            reason: "the resume data names a file that is not a download's, \(path): \(flaw)"
        )
    }
}

/// The file name that a response suggests, safe to append to a directory.
enum SuggestedFilename {
    /// The name from `Content-Disposition`, otherwise the last component of the URL. `nil` if neither is usable.
    static func make(for response: HTTPURLResponse) -> String? {
        make(disposition: response.value(forHTTPHeaderField: "Content-Disposition"), url: response.url)
    }

    static func make(disposition: String?, url: URL?) -> String? {
        if let disposition, let name = ContentDisposition(parsing: disposition).safeFilename { return name }
        guard let last = url?.lastPathComponent, last != "/" else { return nil }
        return SafeFilename.make(last)
    }
}
