internal import CurlewCore
internal import Foundation

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

    func remove(id: Data) throws(DatabaseFault) -> FreedFiles {
        try database.transaction { () throws(DatabaseFault) in
            var freed = FreedFiles()
            try delete("id = ?", [.blob(id)], freed: &freed)
            return freed
        }
    }

    /// Removes all rows with the checksum of a URL.
    func remove(url: String) throws(DatabaseFault) -> FreedFiles {
        try database.transaction { () throws(DatabaseFault) in
            var freed = FreedFiles()
            try delete("url = ?", [.integer(IndexPlace.url(url))], freed: &freed)
            return freed
        }
    }

    /// Removes all rows with the checksum of an origin.
    func remove(origin: String) throws(DatabaseFault) -> FreedFiles {
        try database.transaction { () throws(DatabaseFault) in
            var freed = FreedFiles()
            try delete("origin = ?", [.integer(IndexPlace.origin(origin))], freed: &freed)
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
