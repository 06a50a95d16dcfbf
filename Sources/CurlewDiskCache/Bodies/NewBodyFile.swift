internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Glibc

/// The file of a body that is being stored.
///
/// The file has its final, unique name from the beginning: lookups find it only through its row in the index. Until the
/// row exists, a lock on the file shows that its writer is alive. A file with neither lock nor row is an orphan.
///
/// All methods run on one lane, except `release()`. Syncs of parts run on another lane.
final class NewBodyFile: Sendable {
    private struct State: Sendable {
        var checks: [UInt64] = []
        var size: Int64 = 0
        var unsynced = 0
        var isSyncing = false
        /// The file was closed during a sync. The sync closes the descriptor when it ends.
        var isClosed = false
    }

    private let path: String
    private let descriptor: Int32
    /// The number of bytes that were reserved in the file system.
    private let reserved: Int64
    private let state = Lock(State())
    /// Whether a sync has failed. Every sync holds the lock, because the kernel reports a write error only to the first
    /// `fdatasync` after it.
    private let syncFault = Lock(false)

    /// The number of unsynced bytes that starts a sync. The disk then writes while more bytes arrive, so that the final
    /// sync is short.
    private static let syncSize = 8 << 20
    private static let syncLane = Lane("syncs")
    /// The most files created for one body. A collector can remove at most one of them, because it visits each name
    /// once.
    private static let attempts = 8

    /// The checksums of the pieces so far.
    var checks: [UInt64] { state.withLock { $0.checks } }

    /// `nil` if the file cannot be created, or the disk has no room for a body of the expected size.
    ///
    /// `patience` limits the wait for a collector, which holds the lock while it queries the index. Its process may be
    /// stopped meanwhile.
    init?(_ path: String, expectedSize: Int64?, patience: Duration = .seconds(1)) {
        self.path = path
        // Reserves the expected size. The file system would otherwise account for the file page by page.
        reserved = expectedSize.map { $0 > Int64(BodyPieces.size) ? $0 : 0 } ?? 0
        guard let made = Self.make(path, patience) else { return nil }
        descriptor = made
        // Errors other than a full disk are left for the writes to find.
        guard reserved > 0, posix_fallocate(descriptor, 0, off_t(reserved)) == ENOSPC else { return }
        unlink(path)
        FileLock.release(descriptor)
        Glibc.close(descriptor)
        return nil
    }

    /// Creates the file and locks it.
    ///
    /// A collector of orphans may find the file before it is locked. It then locks the file itself and removes it,
    /// because the file has no row. This function then gets the lock of a file without a name (`st_nlink` is 0) and
    /// creates another one.
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

    /// Writes a piece. All pieces but the last have the same size.
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

    /// Syncs the bytes written so far. Returns false if this sync or an earlier one has failed.
    private func flush() -> Bool {
        syncFault.withLock { hasFailed in
            if fdatasync(descriptor) != 0 { hasFailed = true }
            return !hasFailed
        }
    }

    /// Cuts off unused reserved space and syncs the file. The checksums would also detect bytes lost in a power cut,
    /// but perhaps only in the middle of a response.
    func sync() -> Bool {
        let size = state.withLock { $0.size }
        if size < reserved, ftruncate(descriptor, off_t(size)) != 0 { return false }
        return flush()
    }

    /// Releases the lock, once the row exists. From then on other lanes and processes may remove the file. Safe on any
    /// lane.
    func release() { FileLock.release(descriptor) }

    /// Closes the file. A file that is kept was released before. One that is not kept is removed before its lock is
    /// released, so that no collector finds it unlocked.
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

/// The file of a body that no process is writing. This value holds the file's lock.
struct UnusedBody: ~Copyable {
    private let path: String
    private let descriptor: Int32

    /// `nil` if the file does not exist, its writer is alive, or another collector has removed it; in the last case the
    /// path may name a new file of another writer.
    init?(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            FileLock.release(descriptor)
            close(descriptor)
            return nil
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        FileLock.release(descriptor)
        close(descriptor)
    }

    func remove() { unlink(path) }
}

/// Removes body files without an entry: those that killed processes left, and those of a damaged index.
///
/// Runs in the background. The names are checked in small groups, so that the lane can run other work in between.
struct OrphanCollection: Sendable {
    private static let namesAtOnce = 64

    let folder: CacheFolder
    let lane: IndexLane

    func start() {
        Lane.nextForBodies().enqueue {
            collect(folder.bodyIDs()[...])
        }
    }

    private func collect(_ ids: ArraySlice<EntryID>) {
        guard !ids.isEmpty else { return }
        lane.enqueue { index throws(DatabaseFault) in
            for id in ids.prefix(Self.namesAtOnce) { try collect(id, index) }
        } completion: { isDone in
            // After a failure the lane cannot reach its index, or has to open another one. The remaining names would
            // fail too.
            if isDone { collect(ids.dropFirst(Self.namesAtOnce)) }
        }
    }

    func collect(_ id: EntryID, _ index: CacheIndex) throws(DatabaseFault) {
        guard try !index.contains(id) else { return }
        // A writer holds the lock of its body until the row exists. Between the first query and our lock it may have
        // inserted the row and released the lock, so the index is asked again. If the index has moved, the row may be
        // in the new one.
        guard let body = UnusedBody(folder.body(id)), try !index.contains(id), !index.database.hasMoved else { return }
        body.remove()
    }
}
