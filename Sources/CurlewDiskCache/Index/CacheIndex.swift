internal import CurlewCore
internal import Foundation

/// A connection to the index of a store. Used on one lane only.
///
/// SQLite maps no file of an index that a store has made: another program may truncate any file at any time, and access
/// to a mapped file without its pages ends the process with SIGBUS. A WAL has an index of its own that is always mapped
/// (`-shm`), so transactions have a rollback journal. An index in WAL mode is put back, or made anew.
/// Readers wait while a writer copies its pages into the file.
///
/// A transaction is not synced. The end of a process at any moment leaves the index whole. A power cut may damage it: SQLite or
/// the checksums of the rows find that.
final class CacheIndex {
    let database: Database

    /// Opens the index, and makes it where there is none. Called with the folder locked. `patience` is how
    /// long other processes may change it meanwhile.
    init(_ folder: CacheFolder, patience: Duration) throws(SystemFault) {
        try folder.makeIndexFile()
        do throws(DatabaseFault) {
            database = try Database(path: folder.index, patience: patience)
            try database.execute("PRAGMA mmap_size = 0; PRAGMA synchronous = OFF; PRAGMA cell_size_check = ON;")
            switch try database.integer("PRAGMA user_version") {
            case IndexSchema.version: try setJournalMode()
            case 0:
                // Before there is a table: freed pages can be given back then.
                try database.execute("PRAGMA auto_vacuum = INCREMENTAL;")
                try setJournalMode()
                try database.transaction { () throws(DatabaseFault) in try database.execute(IndexSchema.statements) }
            default: throw DatabaseFault.foreign
            }
            // The tables are there, and begin as tables do.
            guard try database.integer("SELECT bytes FROM total") != nil else { throw DatabaseFault.foreign }
        } catch {
            throw SystemFault(error)
        }
    }

    /// The mode belongs to the connection, except for WAL, which belongs to the file: another program has set it.
    private func setJournalMode() throws(DatabaseFault) {
        var mode = Data()
        try database.run("PRAGMA journal_mode = TRUNCATE") { row in
            mode = row.blob(0)
            return true
        }
        guard mode == Data("truncate".utf8) else { throw DatabaseFault.foreign }
    }

    // MARK: Looking up

    /// Runs lookups, as one transaction where there are several.
    func reading<R>(isTransaction: Bool, _ lookups: () throws(DatabaseFault) -> R) throws(DatabaseFault) -> R {
        isTransaction ? try database.transaction("BEGIN", lookups) : try lookups()
    }

    /// The rows of a key, checked.
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
            // Another key with the same checksums is no damage.
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

    /// What all entries take up.
    func total() throws(DatabaseFault) -> Int64 { try database.integer("SELECT bytes FROM total") ?? 0 }

    func contains(_ id: EntryID) throws(DatabaseFault) -> Bool {
        try database.integer("SELECT 1 FROM entries WHERE id = ?", [.blob(id.data)]) != nil
    }

    /// The time of the use that was last.
    func lastUse() throws(DatabaseFault) -> Int64? {
        try database.integer("SELECT rank FROM entries ORDER BY rank DESC LIMIT 1")
    }
}
