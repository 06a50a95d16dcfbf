internal import CSQLite

/// What SQLite could not do.
struct DatabaseFault: Error, CustomStringConvertible {
    /// SQLite's extended result code.
    let code: Int32

    private var primary: Int32 { code & 0xFF }

    /// The file is no index, or not a whole one. All statements are our own, so one that SQLite does not understand means
    /// that the tables are not the ones that were made.
    var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_FORMAT].contains(primary) || code == Self.shortRead
    }

    // SQLITE_IOERR_SHORT_READ, a macro with an operation, which Swift does not import.
    private static let shortRead = SQLITE_IOERR | 2 << 8

    /// The disk has no room.
    var isFullDisk: Bool { primary == SQLITE_FULL }

    var description: String { "\(code) " + String(cString: sqlite3_errstr(code)) }

    /// A file that is ours by its name and version, but holds something else.
    static let foreign = DatabaseFault(code: SQLITE_NOTADB)

    /// The index cannot be opened.
    static let unreachable = DatabaseFault(code: SQLITE_CANTOPEN)
}
