internal import CurlewCore
internal import CurlewLocks
internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The file that a download grows in until it is complete: private, under a name of its own, and gone
/// unless it was moved to its destination or kept for a later resume.
///
/// `write` is called on the transport's thread, everything else on a `FileLane`: it blocks.
final class DownloadFile: Sendable {
    private enum Fate { case undecided, settled }

    private let file: OpenFile
    private let fate = Lock(Fate.undecided)

    private init(_ file: OpenFile) { self.file = file }

    deinit { discard() }

    /// Where the bytes are for now.
    var url: URL { URL(filePath: file.path) }

    /// A new, empty file in `directory`.
    static func create(in directory: String) throws(CurlewError) -> DownloadFile {
        let file = try OpenFile.create(TemporaryName.make(in: directory))
        // So that no other download goes on with it while it is being written.
        _ = file.lockForWriting()
        return DownloadFile(file)
    }

    /// The file of an earlier download with its first `size` bytes; nil where it does not have them, is none that a
    /// download has left, or is being written by another one. Then it is left as it was.
    static func reopen(_ path: String, keeping size: Int64) -> DownloadFile? {
        guard let file = try? PartialFile.open(path, isFromOutside: false), let status = try? file.status(),
            Int64(status.st_size) >= size, file.lockForWriting(),
            // What comes after was not vouched for.
            (try? file.truncate(to: size)) != nil
        else { return nil }
        return DownloadFile(file)
    }

    // MARK: Growing

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(CurlewError) {
        try file.write(bytes, at: offset)
    }

    /// Calls `body` with what has been written, in order.
    func forEachPiece(
        in range: Range<Int64>,
        _ body: (UnsafeRawBufferPointer, Int64) throws(CurlewError) -> Void
    ) throws(CurlewError) {
        try FileCopy.forEachPiece(of: file, in: range, body)
    }

    var size: Int64 { (try? file.status()).map { Int64($0.st_size) } ?? 0 }

    // MARK: Ending, once

    /// Gives the file its final permissions and name. If that fails the file is gone. `keepsPrivate`: its user has not
    /// said where it goes, so no other user is meant to read it.
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

    /// Closes the file and leaves it where it is, for a later resume.
    func keep() {
        guard settle() else { return }
        file.close()
    }

    /// Closes and removes the file.
    func discard() {
        guard settle() else { return }
        remove()
    }

    private func settle() -> Bool {
        fate.withLock { fate in
            guard case .undecided = fate else { return false }
            fate = .settled
            return true
        }
    }

    private func remove() {
        unlink(file.path)
        file.close()
    }
}
