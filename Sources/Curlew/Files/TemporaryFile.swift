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
    private let isSettled = Lock(false)

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
        guard settle() else { return }
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

/// Generates names for temporary files.
enum TemporaryName {
    /// A hidden name that shows an administrator which program created the file.
    static func make(in directory: String) -> String {
        (directory == "/" ? "" : directory) + "/" + PartialFileName.make(.random(in: .min ... .max))
    }
}
