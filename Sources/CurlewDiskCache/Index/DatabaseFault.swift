internal import CSQLite

/// An error of SQLite.
struct DatabaseFault: Error, CustomStringConvertible {
    /// SQLite's extended result code.
    let code: Int32

    private var primary: Int32 { code & 0xFF }

    /// Whether the file is not an intact index. All statements are fixed, so a statement that SQLite rejects shows that
    /// the tables are not those of the schema.
    var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_FORMAT].contains(primary) || code == Self.shortRead
    }

    // SQLITE_IOERR_SHORT_READ is a macro with an expression, which Swift cannot import.
    private static let shortRead = SQLITE_IOERR | 2 << 8

    /// Whether the disk is full.
    var isFullDisk: Bool { primary == SQLITE_FULL }

    var description: String { "\(code) " + String(cString: sqlite3_errstr(code)) }

    /// The file has the name of an index, but not its contents.
    static let foreign = DatabaseFault(code: SQLITE_NOTADB)

    /// The index cannot be opened.
    static let unreachable = DatabaseFault(code: SQLITE_CANTOPEN)
}
