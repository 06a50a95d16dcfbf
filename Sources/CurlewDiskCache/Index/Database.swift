internal import CSQLite
internal import Foundation

/// A connection to an SQLite file, for one thread at a time.
final class Database {
    enum Value {
        case integer(Int64)
        case blob(Data)
    }

    private let handle: OpaquePointer
    // The prepared statements by their texts. The texts are few and fixed.
    private var statements: [String: OpaquePointer] = [:]

    /// Opens an existing file. `patience` is the time that a statement waits for other processes.
    init(path: String, patience: Duration) throws(DatabaseFault) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw DatabaseFault(code: code)
        }
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, Int32(patience / .milliseconds(1)))
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Whether the path names another file, or none, because another process has replaced or removed the index.
    var hasMoved: Bool {
        var moved: Int32 = 0
        guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK else { return false }
        return moved != 0
    }

    /// The version of the file, read without a lock. Within a transaction of this connection, it is the version that
    /// the transaction reads. `nil` if the file cannot be read, or is in WAL mode, whose changes do not count.
    var version: IndexVersion? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
            let read = file.pointee.pMethods?.pointee.xRead
        else { return nil }
        var version = IndexVersion()
        let code = withUnsafeMutableBytes(of: &version) { bytes in
            read(file, bytes.baseAddress, Int32(bytes.count), IndexVersion.offset)
        }
        return code == SQLITE_OK && version.usesJournal ? version : nil
    }

    /// Runs statements without caching them.
    func execute(_ text: String) throws(DatabaseFault) {
        let code = sqlite3_exec(handle, text, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault(code) }
    }

    /// Runs a statement and passes its rows to `read` until that returns false.
    func run(
        _ text: String,
        _ values: [Value] = [],
        read: (Row) -> Bool = { _ in true }
    ) throws(DatabaseFault) {
        let statement = try prepared(text)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1), of: statement) }
        while true {
            let code = sqlite3_step(statement)
            switch code {
            case SQLITE_ROW: guard read(Row(statement: statement)) else { return }
            case SQLITE_DONE: return
            default: throw fault(code)
            }
        }
    }

    /// The number in the first column of the first row, or `nil` if there is no row.
    func integer(_ text: String, _ values: [Value] = []) throws(DatabaseFault) -> Int64? {
        var found: Int64?
        try run(text, values) {
            found = $0.integer(0)
            return false
        }
        return found
    }

    /// Runs `body` as one atomic transaction.
    ///
    /// The default takes the write lock at once: a transaction that begins with a read fails instead of waiting when it
    /// then needs to write while another writer is active. Pass "BEGIN" if `body` only reads.
    func transaction<R>(
        _ begin: String = "BEGIN IMMEDIATE",
        _ body: () throws(DatabaseFault) -> R
    ) throws(DatabaseFault) -> R {
        try run(begin)
        do throws(DatabaseFault) {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // Some errors have already ended the transaction.
            if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    private func prepared(_ text: String) throws(DatabaseFault) -> OpaquePointer {
        if let statement = statements[text] { return statement }
        var made: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
        guard code == SQLITE_OK, let made else { throw fault(code) }
        statements[text] = made
        return made
    }

    private func bind(_ value: Value, at index: Int32, of statement: OpaquePointer) throws(DatabaseFault) {
        let code =
            switch value {
            case .integer(let number): sqlite3_bind_int64(statement, index, number)
            case .blob(let data):
                data.withUnsafeBytes { bytes in
                    // A `nil` address would bind NULL instead of an empty blob. SQLite copies the bytes.
                    bytes.baseAddress.map {
                        sqlite3_bind_blob64(statement, index, $0, UInt64(bytes.count), Self.copied)
                    }
                        ?? sqlite3_bind_zeroblob(statement, index, 0)
                }
            }
        guard code == SQLITE_OK else { throw fault(code) }
    }

    // SQLITE_TRANSIENT is a macro with a cast, which Swift cannot import.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private func fault(_ code: Int32) -> DatabaseFault { DatabaseFault(code: code) }

    /// A row of a result. Valid only during the call of `read`.
    struct Row {
        fileprivate let statement: OpaquePointer

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

        func blob(_ column: Int32) -> Data {
            guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
            return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
        }
    }
}

/// The bytes of an SQLite file's header from 16 to 32: the format and the change counter. Each transaction that changes
/// the file increments the counter, except in WAL mode (https://sqlite.org/fileformat2.html#file_change_counter).
struct IndexVersion: Equatable {
    static let offset: Int64 = 16

    // The size of a page, the versions of the format for writing and for reading, and constants.
    private var format: UInt64 = 0
    // The change counter and the number of pages.
    private var changes: UInt64 = 0

    /// Whether both versions of the format are 1. WAL mode has 2.
    var usesJournal: Bool { format.bigEndian >> 32 & 0xFFFF == 0x0101 }
}

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
