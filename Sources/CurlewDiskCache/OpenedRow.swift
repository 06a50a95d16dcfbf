internal import CurlewCore
internal import Foundation

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
