internal import CurlewCore
internal import Foundation

/// A small body, which came with its entry from the index.
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

/// A body in a file of its own.
struct FileBody: CacheBody {
    let file: StoredFile
    let size: Int64
    /// Of its pieces.
    let checks: Data
    let number: Int64
    let uses: UseList
    /// Called where the file turns out to be damaged, or cannot be read.
    let report: @Sendable (BodyFault) -> Void

    func reader(of range: Range<Int64>) async -> (any CacheReader)? {
        guard range.lowerBound >= 0, range.upperBound <= size else { return nil }
        uses.note(number)
        let reader = FileBodyReader(self, range)
        // What is damaged at its beginning is a miss. What is damaged later on ends a response that has begun.
        guard await reader.prepare() else { return nil }
        return reader
    }
}
