internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// The file of a body that is being stored.
///
/// It has its final name from the beginning, which no other body has: nothing finds it without its row in the index. A lock on
/// it says that its process lives, until there is that row; a file without lock and row is an orphan.
///
/// All methods run on one lane; the disk is told to write by another.
final class NewBodyFile: Sendable {
    private struct State: Sendable {
        var checks: [UInt64] = []
        var size: Int64 = 0
        var unsynced = 0
        var isSyncing = false
        /// It was closed while it was being synced, which closes it afterwards.
        var isClosed = false
    }

    private let path: String
    private let descriptor: Int32
    /// What the file system was asked for.
    private let reserved: Int64
    private let state = Lock(State())
    /// Whether a sync has failed. Held by each of them: the system tells a fault once, to whichever asks first.
    private let syncFault = Lock(false)

    /// A disk writes while more comes: little is left to wait for in the end.
    private static let syncSize = 8 << 20
    private static let syncLane = Lane("syncs")
    /// How many files are made for a body at most. A collector removes one of them at most: it looks once at each name.
    private static let attempts = 8

    /// The checksums of the pieces so far.
    var checks: [UInt64] { state.withLock { $0.checks } }

    /// nil where there can be no such file, or no room for a body of the expected size. `patience` is for a collector: it holds
    /// the lock for a question to the index, and one whose process was stopped is not waited for.
    init?(_ path: String, expectedSize: Int64?, patience: Duration = .seconds(1)) {
        self.path = path
        // What a file system does not know beforehand it has to account for page by page.
        reserved = expectedSize.map { $0 > Int64(BodyPieces.size) ? $0 : 0 } ?? 0
        guard let made = Self.make(path, patience) else { return nil }
        descriptor = made
        // Anything else than a full disk is for the writing to find out.
        guard reserved > 0, posix_fallocate(descriptor, 0, off_t(reserved)) == ENOSPC else { return }
        unlink(path)
        FileLock.release(descriptor)
        Glibc.close(descriptor)
        return nil
    }

    /// Makes the file and takes its lock. Between the two a collector of orphans may take the lock: it removes the file, and
    /// another one is made.
    private static func make(_ path: String, _ patience: Duration) -> Int32? {
        for _ in 0..<attempts {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { return nil }
            var status = stat()
            let isLocked = (try? FileLock.take(descriptor, patience: patience)) != nil
            if isLocked, fstat(descriptor, &status) == 0, status.st_nlink > 0 { return descriptor }
            FileLock.release(descriptor)
            Glibc.close(descriptor)
        }
        return nil
    }

    /// Writes a piece. All but the last one have the same size.
    func append(_ piece: Data) -> Bool {
        let number = state.withLock { Int64($0.checks.count) }
        let check = BodyPieces.check(piece, of: number)
        guard piece.withUnsafeBytes(write) else { return false }
        let syncs = state.withLock { state in
            state.checks.append(check)
            state.size += Int64(piece.count)
            state.unsynced += piece.count
            guard state.unsynced >= Self.syncSize, !state.isSyncing else { return false }
            state.unsynced = 0
            state.isSyncing = true
            return true
        }
        if syncs { Self.syncLane.enqueue { self.syncPart() } }
        return true
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var done = 0
        while done < bytes.count, let start = bytes.baseAddress {
            let count = Glibc.write(descriptor, start + done, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    private func syncPart() {
        _ = flush()
        let closes = state.withLock { state in
            state.isSyncing = false
            return state.isClosed
        }
        if closes { Glibc.close(descriptor) }
    }

    /// Whether all that was written so far is on the disk.
    private func flush() -> Bool {
        syncFault.withLock { hasFailed in
            if fdatasync(descriptor) != 0 { hasFailed = true }
            return !hasFailed
        }
    }

    /// Brings the bytes to the disk. Checksums would find what is missing after a power cut, but perhaps only in the middle of
    /// a response.
    func sync() -> Bool {
        let size = state.withLock { $0.size }
        if size < reserved, ftruncate(descriptor, off_t(size)) != 0 { return false }
        return flush()
    }

    /// Gives up the lock: the row is there, and the file is another's to remove from here on. On any lane.
    func release() { FileLock.release(descriptor) }

    /// Closes the file. One that is kept was released; one that is not is removed before its lock is given up.
    func close(isKept: Bool) {
        if !isKept {
            unlink(path)
            release()
        }
        let closes = state.withLock { state in
            state.isClosed = true
            return !state.isSyncing
        }
        if closes { Glibc.close(descriptor) }
    }
}
