internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The rows that one lookup lane has read, valid while the index is unchanged. A lookup of a known key needs neither
/// the lane nor SQLite's locks: it checks the file's name and reads the version in its header.
///
/// The version belongs to the rows because the lane reads both in one transaction. It changes with each transaction
/// that changes the file, and is in the file before that transaction is complete:
///
/// - Another connection or process has completed a change before the lookup began: the version differs.
/// - A change is under way. If its version is in the file already, the rows are read again, for which SQLite waits. If
///   not, the change is incomplete, and the lookup precedes it.
/// - The process of a change has ended in its middle. If its version is in the file, the next reading restores the
///   file, version included. That version never belonged to rows: a reading restores the file first.
/// - The index was replaced or cleared: the path names another file, or none.
///
/// Rows whose bodies are in files are not kept, because each lookup has to open or check the file.
final class KnownRows: Sendable {
    private struct State {
        /// Reads the version. A separate connection, because that of the lane may be in use on another thread. It never
        /// runs a statement. A plain descriptor would not do: by closing it the process would lose SQLite's locks on
        /// the file.
        var file: Database?
        var version: IndexVersion?
        // A key is first in `recent`, then in `old`. It is dropped if it is not used while the next `recent` fills.
        var recent: [CacheKey: [OpenedRow]] = [:]
        var old: [CacheKey: [OpenedRow]] = [:]
        var recentSize = 0

        mutating func add(_ rows: [OpenedRow], of key: CacheKey) {
            let size = KnownRows.size(of: rows, of: key)
            guard size <= KnownRows.keyLimit else { return }
            if recentSize > KnownRows.limit { (old, recent, recentSize) = (recent, [:], 0) }
            // A key may be looked up several times in one turn.
            if recent.updateValue(rows, forKey: key) == nil { recentSize += size }
        }

        mutating func forget(version: IndexVersion?) {
            (self.version, recent, old, recentSize) = (version, [:], [:], 0)
        }
    }

    /// The approximate number of bytes at which `recent` becomes `old`. Each exceeds it by at most one key.
    private static let limit = 1 << 20
    /// The size of the largest rows of one key that are kept: others would displace many.
    private static let keyLimit = 64 << 10

    private let folder: CacheFolder
    private let state = Lock(State())

    init(_ folder: CacheFolder) { self.folder = folder }

    /// The rows of a key, if they are known and still those of the index. Blocks for a `stat` and a read of 16 bytes,
    /// which the system has in its page cache as long as the index is used.
    func rows(of key: CacheKey) -> [OpenedRow]? {
        state.withLock { state in
            guard let rows = state.recent[key] ?? state.old[key] else { return nil }
            guard let file = state.file, !file.hasMoved, let version = file.version, version == state.version else {
                state.forget(version: nil)
                return nil
            }
            if state.recent[key] == nil { state.add(rows, of: key) }
            return rows
        }
    }

    /// Stores rows that were read from `index` in the transaction that is still open. Call it on the lane; it blocks.
    func store(_ found: [(key: CacheKey, rows: [OpenedRow])], readFrom index: Database) {
        let version = index.version
        state.withLock { state in
            if state.file?.hasMoved != false {
                state.file = try? Database(path: folder.index, patience: .zero)
                state.forget(version: nil)
            }
            // Both connections have the same file: the path named the lane's before and after the other was opened.
            guard let version, !index.hasMoved else { return }
            if version != state.version { state.forget(version: version) }
            for (key, rows) in found where rows.allSatisfy(\.isInline) { state.add(rows, of: key) }
        }
    }

    /// The approximate memory that rows take. A key without rows counts too: a peer can ask for many with long URLs.
    private static func size(of rows: [OpenedRow], of key: CacheKey) -> Int {
        rows.reduce(1000 + 2 * key.url.utf8.count) { $0 + $1.size + 1000 }
    }
}
