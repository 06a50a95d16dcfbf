internal import CurlewCore
internal import Foundation

/// A row that was found, with the file of its body where it has one.
struct OpenedRow: Sendable {
    let found: FoundRow
    private let file: Result<StoredFile, BodyFault>?

    /// On a lane. Where the row `isAlone` its file is opened: from here on it can be read to its end, whatever happens to the
    /// entry. Of several rows of a key at most one is going to be read: their files are only looked at.
    init(_ found: FoundRow, _ folder: CacheFolder, isAlone: Bool) {
        self.found = found
        file = found.row.flatMap { row in
            guard row.isFile else { return nil }
            return Result { () throws(BodyFault) in
                try StoredFile(folder.body(row.id), size: row.size, isOpen: isAlone)
            }
        }
    }

    /// What is wrong with it: it does not agree with its checksums, or its file is not there or not to be had.
    var fault: BodyFault? {
        guard found.row != nil else { return .damaged }
        if case .failure(let fault)? = file { return fault }
        return nil
    }

    /// What the cache gets to see; nil for a row with a fault.
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
