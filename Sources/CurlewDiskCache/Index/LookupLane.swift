internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Looks up keys, on a separate lane unless their rows are known. Lookups that wait together run in one turn and one
/// transaction, because changing threads and locking the index cost more than the lookup.
final class LookupLane: Sendable {
    private typealias Found = Result<[OpenedRow], DatabaseFault>

    private struct Lookup: Sendable {
        let key: CacheKey
        let answer: CheckedContinuation<Found, Never>
    }

    let index: IndexLane
    private let folder: CacheFolder
    private let known: KnownRows
    private let waiting = Lock<[Lookup]>([])

    init(_ name: String, _ folder: CacheFolder, _ counts: FaultCounts, lockPatience: Duration) {
        index = IndexLane(name, folder, counts, lockPatience: lockPatience)
        self.folder = folder
        known = KnownRows(folder)
    }

    /// The rows of a key, as they are in the index at some moment after this call began.
    func rows(of key: CacheKey) async -> Result<[OpenedRow], DatabaseFault> {
        if let rows = known.rows(of: key) { return .success(rows) }
        return await withCheckedContinuation { answer in
            let isFirst = waiting.withLock { waiting in
                waiting.append(Lookup(key: key, answer: answer))
                return waiting.count == 1
            }
            if isFirst { index.enqueueTurn { [self] in answerAll() } }
        }
    }

    /// Answers all waiting lookups. Runs on the lane.
    private func answerAll() {
        let lookups = waiting.withLock { waiting in exchange(&waiting, with: []) }
        let found = index.runInTurn { (index) throws(DatabaseFault) -> [(key: CacheKey, rows: [OpenedRow])] in
            try index.database.transaction("BEGIN") { () throws(DatabaseFault) in
                var found: [(key: CacheKey, rows: [OpenedRow])] = []
                for lookup in lookups {
                    let rows = try index.rows(of: lookup.key)
                    found.append((lookup.key, rows.map { OpenedRow($0, folder, isAlone: rows.count == 1) }))
                }
                known.store(found, readFrom: index.database)
                return found
            }
        }
        for (number, lookup) in lookups.enumerated() { lookup.answer.resume(returning: found.map { $0[number].rows }) }
    }
}

/// A row that a lookup found, with the file of its body if it has one.
struct OpenedRow: Sendable {
    let found: FoundRow
    private let file: Result<StoredFile, BodyFault>?

    /// Call it on a lane; it blocks.
    ///
    /// If the row `isAlone`, its file is opened, so that it can be read to the end even if the entry is removed. If a
    /// key has several rows, at most one of them will be read, so their files are only checked.
    init(_ found: FoundRow, _ folder: CacheFolder, isAlone: Bool) {
        self.found = found
        file = found.row.flatMap { row in
            guard row.isFile else { return nil }
            return Result { () throws(BodyFault) in
                try StoredFile(folder.body(row.id), size: row.size, isOpen: isAlone)
            }
        }
    }

    /// Whether the row is intact and contains its body.
    var isInline: Bool { found.row?.isFile == false }

    /// The approximate memory that the row takes: encoded, decoded and its body.
    var size: Int {
        guard let row = found.row else { return 0 }
        // Each field is two strings, which take memory of their own however short they are.
        let fields = row.entry.response.head.headers.count + row.entry.varyingFields.count
        return 2 * row.encoded.count + 128 * fields + row.bytes.count
    }

    /// The fault that makes the row unusable: a checksum does not match, or the file is missing or cannot be opened.
    var fault: BodyFault? {
        guard found.row != nil else { return .damaged }
        if case .failure(let fault)? = file { return fault }
        return nil
    }

    /// The entry that is passed to the cache, or `nil` if the row has a fault.
    func entry(_ uses: UseList, report: @escaping @Sendable (BodyFault) -> Void) -> StoredEntry? {
        guard let row = found.row else { return nil }
        guard let file else {
            return StoredEntry(entry: row.entry, body: InlineBody(bytes: row.bytes, number: found.number, uses: uses))
        }
        guard case .success(let file) = file else { return nil }
        let body = FileBody(
            file: file,
            size: row.size,
            checks: row.bytes,
            number: found.number,
            uses: uses,
            report: report
        )
        return StoredEntry(entry: row.entry, body: body)
    }
}
