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

extension CacheIndex {
    /// The intact entries with numbers below `number`, in descending order.
    func items(before number: Int64, limit: Int) throws(DatabaseFault) -> [DiskCacheItem] {
        var items: [DiskCacheItem] = []
        guard limit > 0 else { return items }
        try database.run(
            "SELECT number, size, entry_check, body_check, entry FROM entries WHERE number < ? ORDER BY number DESC",
            [.integer(number)]
        ) { row in
            let encoded = row.blob(4)
            if IndexRow.entryCheck(encoded, bodyCheck: row.integer(3)) == row.integer(2),
                let entry = CacheEntry(encoded: encoded)
            {
                items.append(DiskCacheItem(entry: entry, bodySize: row.integer(1), number: row.integer(0)))
            }
            return items.count < limit
        }
        return items
    }
}

// Every change is one transaction. The caller removes the files afterwards: if the process ends in between, a file
// without an entry is left, never an entry without its file.
extension CacheIndex {
    /// Inserts a row, replacing the row of its key and variant. Makes room for it first.
    func insert(_ row: IndexRow, use: Int64, now: Int64, maximumSize: Int64) throws(DatabaseFault) -> FreedFiles {
        let lifetime = row.entry.lifetime
        let usable = Self.milliseconds(lifetime.usableUntil)
        let (place, bodyCheck) = (row.place, row.bodyCheck)
        return try database.transaction { () throws(DatabaseFault) in
            var freed = FreedFiles()
            try delete(
                "url = ? AND key = ? AND variant = ?",
                [.integer(place.url), .integer(place.key), .integer(place.variant)],
                freed: &freed
            )
            try limitVariants(of: place, freed: &freed)
            try makeRoom(for: row.cost, now: now, maximumSize: maximumSize, freed: &freed)
            try database.run(
                "INSERT INTO entries VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    .blob(row.id.data), .integer(place.origin), .integer(place.url), .integer(place.key),
                    .integer(place.variant),
                    .integer(Self.rank(use, lifetime)), .integer(usable), .integer(lifetime.canBeValidated ? 1 : 0),
                    .integer(row.cost), .integer(row.size), .integer(row.isFile ? 1 : 0),
                    .integer(IndexRow.entryCheck(row.encoded, bodyCheck: bodyCheck)), .integer(bodyCheck),
                    .blob(row.encoded),
                ]
            )
            try database.run("INSERT OR REPLACE INTO bodies VALUES(last_insert_rowid(), ?)", [.blob(row.bytes)])
            return freed
        }
    }

    /// Replaces the head and lifetime of an entry's row. Does nothing if the row has been removed.
    func update(_ entry: CacheEntry, id: EntryID, use: Int64) throws(DatabaseFault) {
        let encoded = entry.encoded
        let lifetime = entry.lifetime
        try database.transaction { () throws(DatabaseFault) in
            let check = try database.integer("SELECT body_check FROM entries WHERE id = ?", [.blob(id.data)])
            guard let check else { return }
            try database.run(
                """
                UPDATE entries SET cost = cost + ? - length(entry), entry = ?, entry_check = ?, usable = ?, validates = ?,
                rank = ? WHERE id = ?
                """,
                [
                    .integer(Int64(encoded.count)), .blob(encoded),
                    .integer(IndexRow.entryCheck(encoded, bodyCheck: check)),
                    .integer(Self.milliseconds(lifetime.usableUntil)), .integer(lifetime.canBeValidated ? 1 : 0),
                    .integer(Self.rank(use, lifetime)), .blob(id.data),
                ]
            )
        }
    }

    /// Records the time of the last use of entries, by their numbers.
    func touch(_ uses: [Int64: Int64]) throws(DatabaseFault) {
        guard !uses.isEmpty else { return }
        try database.transaction { () throws(DatabaseFault) in
            for (number, use) in uses {
                try database.run(
                    "UPDATE entries SET rank = CASE WHEN validates THEN ?1 ELSE min(?1, usable) END WHERE number = ?2",
                    [.integer(use), .integer(number)]
                )
            }
        }
    }

    func remove(id: Data) throws(DatabaseFault) -> FreedFiles { try remove("id = ?", .blob(id)) }

    /// Removes all rows with the checksum of a URL.
    func remove(url: String) throws(DatabaseFault) -> FreedFiles {
        try remove("url = ?", .integer(IndexPlace.url(url)))
    }

    /// Removes all rows with the checksum of an origin.
    func remove(origin: String) throws(DatabaseFault) -> FreedFiles {
        try remove("origin = ?", .integer(IndexPlace.origin(origin)))
    }

    private func remove(_ condition: String, _ value: Database.Value) throws(DatabaseFault) -> FreedFiles {
        try database.transaction { () throws(DatabaseFault) in
            var freed = FreedFiles()
            try delete(condition, [value], freed: &freed)
            return freed
        }
    }

    /// Computes the total again, in case it was damaged.
    func recount() throws(DatabaseFault) {
        try database.transaction { () throws(DatabaseFault) in
            try database.run("INSERT OR REPLACE INTO total SELECT 1, ifnull(sum(cost), 0) FROM entries")
        }
    }

    // MARK: Room

    /// Removes the least recently used variants of a key until there is room for one more.
    private func limitVariants(of place: IndexPlace, freed: inout FreedFiles) throws(DatabaseFault) {
        try delete(
            """
            number IN (SELECT number FROM entries WHERE url = ? AND key = ?
            ORDER BY rank DESC, number DESC LIMIT -1 OFFSET ?)
            """,
            [.integer(place.url), .integer(place.key), .integer(Int64(Variants.maximumPerKey - 1))],
            freed: &freed
        )
    }

    /// Removes useless entries, then the least recently used ones, until `cost` bytes have room.
    private func makeRoom(for cost: Int64, now: Int64, maximumSize: Int64, freed: inout FreedFiles)
        throws(DatabaseFault)
    {
        guard case let excess = try total() - (maximumSize - cost), excess > 0 else { return }
        let rest = try evict(
            "validates = 0 AND usable < ? ORDER BY usable", [.integer(now)], excess: excess, freed: &freed)
        _ = try evict("1 ORDER BY rank", [], excess: rest, freed: &freed)
        try database.run("PRAGMA incremental_vacuum(64)")
    }

    /// Removes rows in the order of `condition` until `excess` bytes are free. Returns the number of bytes still
    /// missing.
    private func evict(
        _ condition: String,
        _ values: [Database.Value],
        excess: Int64,
        freed: inout FreedFiles
    ) throws(DatabaseFault) -> Int64 {
        guard excess > 0 else { return 0 }
        var rest = excess
        var numbers: [Int64] = []
        try database.run("SELECT number, cost FROM entries WHERE \(condition)", values) { row in
            numbers.append(row.integer(0))
            rest -= max(0, row.integer(1))
            return rest > 0
        }
        for number in numbers { try delete("number = ?", [.integer(number)], freed: &freed) }
        return rest
    }

    private func delete(_ condition: String, _ values: [Database.Value], freed: inout FreedFiles) throws(DatabaseFault)
    {
        var (ids, rows) = ([EntryID](), 0)
        try database.run("DELETE FROM entries WHERE \(condition) RETURNING id, file", values) { row in
            if row.integer(1) != 0, let id = EntryID(stored: row.blob(0)) { ids.append(id) }
            rows += 1
            return true
        }
        freed.ids += ids
        freed.rows += rows
    }

    // MARK: Time

    /// The rank that decides which entries are removed first: the time of the last use. An entry that cannot be
    /// validated is useless after its lifetime, so its rank is at most the end of that.
    private static func rank(_ use: Int64, _ lifetime: CacheLifetime) -> Int64 {
        lifetime.canBeValidated ? use : min(use, milliseconds(lifetime.usableUntil))
    }

    /// The date in milliseconds. Extreme dates are clamped, so that the value fits an `Int64`.
    static func milliseconds(_ date: Date) -> Int64 {
        let value = date.timeIntervalSince1970 * 1000
        return value.isNaN ? 0 : Int64(min(max(value, -1e15), 1e15))
    }
}

/// The tables of the index. Every change of them needs a new version; an index of another version is replaced.
///
///     entries   one row for each entry; `entry` is `CacheEntry.encoded`, its key and variant are checksums
///     bodies    by the same number: the body itself, or the checksums of its pieces if it is in a file
///     total     one row: the cost of all entries, updated by triggers in the transaction that changes it
private enum IndexSchema {
    static let version: Int64 = 3

    static let statements = """
        CREATE TABLE entries(
            number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
            origin INTEGER NOT NULL, url INTEGER NOT NULL, key INTEGER NOT NULL, variant INTEGER NOT NULL,
            rank INTEGER NOT NULL, usable INTEGER NOT NULL, validates INTEGER NOT NULL,
            cost INTEGER NOT NULL, size INTEGER NOT NULL, file INTEGER NOT NULL,
            entry_check INTEGER NOT NULL, body_check INTEGER NOT NULL, entry BLOB NOT NULL);
        CREATE INDEX entries_place ON entries(url, key, variant);
        CREATE INDEX entries_origin ON entries(origin);
        CREATE INDEX entries_rank ON entries(rank, cost);
        CREATE INDEX entries_end ON entries(usable) WHERE validates = 0;
        CREATE TABLE bodies(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
        CREATE TABLE total(one INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
        INSERT INTO total VALUES(1, 0);
        CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
            UPDATE total SET bytes = bytes + NEW.cost;
        END;
        CREATE TRIGGER entry_changed AFTER UPDATE OF cost ON entries BEGIN
            UPDATE total SET bytes = bytes + NEW.cost - OLD.cost;
        END;
        CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
            UPDATE total SET bytes = bytes - OLD.cost;
            DELETE FROM bodies WHERE number = OLD.number;
        END;
        PRAGMA user_version = \(version);
        """
}
