internal import CurlewCore
internal import Foundation

/// A row that was found, with the file of its body open where it has one: from here on it can be read to its end, whatever
/// happens to the entry.
struct OpenedRow: Sendable {
    let found: FoundRow
    private let file: BodyFile?

    /// On a lane.
    init(_ found: FoundRow, _ folder: CacheFolder) {
        self.found = found
        file = found.row.flatMap { $0.isFile ? BodyFile(folder.body($0.id), size: $0.size) : nil }
    }

    /// Whether the row does not agree with its checksums, or its file is not there.
    var isDamaged: Bool { found.row.map { $0.isFile && file == nil } ?? true }

    /// What the cache gets to see; nil for a row that is damaged.
    func entry(_ uses: UseList, reportDamage: @escaping @Sendable () -> Void) -> StoredEntry? {
        guard let row = found.row else { return nil }
        guard row.isFile else {
            return StoredEntry(entry: row.entry, body: InlineBody(bytes: row.bytes, number: found.number, uses: uses))
        }
        guard let file else { return nil }
        let body = FileBody(
            file: file,
            size: row.size,
            checks: row.bytes,
            number: found.number,
            uses: uses,
            reportDamage: reportDamage
        )
        return StoredEntry(entry: row.entry, body: body)
    }
}
