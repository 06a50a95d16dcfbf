internal import CurlewCore
internal import Foundation

/// A small body that was read from the index with its entry.
struct InlineBody: CacheBody {
    let bytes: Data
    let number: Int64
    let uses: UseList

    var size: Int64 { Int64(bytes.count) }

    func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        uses.note(number)
        return await DataCacheBody(bytes).reader(of: range)
    }
}

/// A body in a separate file.
struct FileBody: CacheBody {
    let file: StoredFile
    let size: Int64
    /// The checksums of the body's pieces, encoded by `BodyPieces`.
    let checks: Data
    let number: Int64
    let uses: UseList
    /// Called if the file is damaged or cannot be read.
    let report: @Sendable (BodyFault) -> Void

    func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
        uses.note(number)
        let reader = FileBodyReader(self, range)
        // Damage at the beginning of the range is a miss. Damage further on ends a response that has already begun.
        guard await reader.prepare() else { return nil }
        return reader
    }
}
