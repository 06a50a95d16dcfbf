internal import CurlewCore
internal import Foundation
internal import Glibc

/// The file of a body that is being stored.
///
/// It has its final name from the beginning, which no other body has: nothing finds it without its row in the index. A lock on
/// it says that its process lives, until there is that row; a file without lock and row is an orphan.
///
/// All methods run on one lane.
// SAFETY: used on one lane only.
final class NewBodyFile: @unchecked Sendable {
    private let path: String
    private let descriptor: Int32
    private(set) var checks: [UInt64] = []

    init?(_ path: String) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Writes a piece. All but the last one have the same size.
    func append(_ piece: Data) -> Bool {
        checks.append(BodyPieces.check(piece, of: Int64(checks.count)))
        let isWritten = piece.withUnsafeBytes { bytes -> Bool in
            var done = 0
            while done < bytes.count, let start = bytes.baseAddress {
                let count = write(descriptor, start + done, bytes.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
        return isWritten
    }

    /// Brings the bytes to the disk. Checksums would find what is missing after a power cut, but perhaps only in the middle of
    /// a response.
    func sync() -> Bool { fdatasync(descriptor) == 0 }

    /// Closes the file. One that is not kept is removed before its lock is given up.
    func close(isKept: Bool) {
        if !isKept { unlink(path) }
        Glibc.close(descriptor)
    }
}
