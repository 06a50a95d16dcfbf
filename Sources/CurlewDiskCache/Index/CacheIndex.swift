internal import CurlewCore
internal import Foundation

/// A connection to the index of a store. Used on one lane only.
///
/// SQLite must not map files of an index that a store has created: another program may truncate a file at any time, and
/// access to a mapped page that is gone ends the process with SIGBUS. WAL mode always maps a file (`-shm`), so
/// transactions use a rollback journal. An index in WAL mode is switched back or replaced. The price is that readers
/// wait while a writer copies its pages into the file.
///
/// Transactions are not synced. The index survives the end of a process at any moment. A power cut may damage it;
/// SQLite or the checksums of the rows detect that.
final class CacheIndex {
    let database: Database

    /// Opens the index, or creates it if there is none. Call it with the folder locked. `patience` is the time that a
    /// statement waits for changes of other processes.
    init(_ folder: CacheFolder, patience: Duration) throws(SystemFault) {
        try folder.makeIndexFile()
        do throws(DatabaseFault) {
            database = try Database(path: folder.index, patience: patience)
            try database.execute("PRAGMA mmap_size = 0; PRAGMA synchronous = OFF; PRAGMA cell_size_check = ON;")
            switch try database.integer("PRAGMA user_version") {
            case IndexSchema.version: try setJournalMode()
            case 0:
                // `auto_vacuum` must be set before the first table exists. It lets the file shrink.
                try database.execute("PRAGMA auto_vacuum = INCREMENTAL;")
                try setJournalMode()
                try database.transaction { () throws(DatabaseFault) in try database.execute(IndexSchema.statements) }
            default: throw DatabaseFault.foreign
            }
            // Checks that the tables exist and are of the expected form.
            guard try database.integer("SELECT bytes FROM total") != nil else { throw DatabaseFault.foreign }
        } catch {
            throw SystemFault(error)
        }
    }

    /// Sets the journal mode of the connection. WAL is a property of the file instead: if another program has set it
    /// and it cannot be reset, the index is `foreign`.
    private func setJournalMode() throws(DatabaseFault) {
        var mode = Data()
        try database.run("PRAGMA journal_mode = TRUNCATE") { row in
            mode = row.blob(0)
            return true
        }
        guard mode == Data("truncate".utf8) else { throw DatabaseFault.foreign }
    }

    // MARK: Looking up

    /// Runs lookups, in one transaction if there are several.
    func reading<R>(isTransaction: Bool, _ lookups: () throws(DatabaseFault) -> R) throws(DatabaseFault) -> R {
        isTransaction ? try database.transaction("BEGIN", lookups) : try lookups()
    }

    /// The rows of a key, checked against their checksums.
    func rows(of key: CacheKey) throws(DatabaseFault) -> [FoundRow] {
        var found: [FoundRow] = []
        try database.run(
            """
            SELECT number, id, size, file, entry_check, body_check, entry, bytes, variant, origin
            FROM entries LEFT JOIN bodies USING (number) WHERE url = ? AND key = ? ORDER BY number DESC
            """, [.integer(IndexPlace.url(key.url)), .integer(IndexPlace.key(key))]
        ) { row in
            let id = row.blob(1)
            let whole = Self.checked(row, id: id)
            // A row of another key with the same checksum is intact, but no result.
            if whole == nil || whole?.entry.key == key {
                found.append(FoundRow(number: row.integer(0), id: id, row: whole))
            }
            return true
        }
        return found
    }

    private static func checked(_ row: Database.Row, id: Data) -> IndexRow? {
        let (size, isFile) = (row.integer(2), row.integer(3) == 1)
        let (encoded, bytes) = (row.blob(6), row.blob(7))
        let bodyCheck = IndexRow.bodyCheck(bytes, size: size, isFile: isFile)
        guard bodyCheck == row.integer(5), IndexRow.entryCheck(encoded, bodyCheck: bodyCheck) == row.integer(4),
            let id = EntryID(stored: id), let entry = CacheEntry(encoded: encoded), entry.id == id.text,
            IndexPlace.variant(entry.variant) == row.integer(8), IndexPlace.origin(entry.key.origin) == row.integer(9)
        else { return nil }
        return IndexRow(id: id, entry: entry, encoded: encoded, size: size, isFile: isFile, bytes: bytes)
    }

    /// The number of bytes that all entries occupy.
    func total() throws(DatabaseFault) -> Int64 { try database.integer("SELECT bytes FROM total") ?? 0 }

    func contains(_ id: EntryID) throws(DatabaseFault) -> Bool {
        try database.integer("SELECT 1 FROM entries WHERE id = ?", [.blob(id.data)]) != nil
    }

    /// The latest rank. `UseClock` continues from it.
    func lastUse() throws(DatabaseFault) -> Int64? {
        try database.integer("SELECT rank FROM entries ORDER BY rank DESC LIMIT 1")
    }
}
