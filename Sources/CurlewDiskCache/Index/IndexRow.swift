internal import CurlewCore
internal import Foundation

/// An entry as the index holds it.
struct IndexRow: Sendable {
    let id: EntryID
    let entry: CacheEntry
    let encoded: Data
    /// How large the body is, and whether it lies in a file of its own.
    let size: Int64
    let isFile: Bool
    /// The body itself, or the checksums of the pieces of its file.
    let bytes: Data

    /// `encoded` is what `entry` was decoded from, where it was.
    init(id: EntryID, entry: CacheEntry, encoded: Data? = nil, size: Int64, isFile: Bool, bytes: Data) {
        self.id = id
        self.entry = entry
        self.size = size
        self.isFile = isFile
        self.bytes = bytes
        self.encoded = encoded ?? entry.encoded
    }

    var place: IndexPlace { IndexPlace(entry.key, variant: entry.variant) }

    // The checksum of the entry covers that of the body, which covers its size: rows that were mixed up do not agree.
    var bodyCheck: Int64 { Self.bodyCheck(bytes, size: size, isFile: isFile) }
    var entryCheck: Int64 { Self.entryCheck(encoded, bodyCheck: bodyCheck) }

    /// What it takes up, nearly: SQLite gives large values pages of their own, file systems give files blocks.
    var cost: Int64 {
        let row = encoded.count + bytes.count + 300
        let pages = row < 4000 ? row : (row + 4095) & ~4095
        return Int64(pages) + (isFile ? (size + 4095) & ~4095 : 0)
    }

    static func bodyCheck(_ bytes: Data, size: Int64, isFile: Bool) -> Int64 {
        let seed = UInt64(bitPattern: size) << 1 | (isFile ? 1 : 0)
        return Int64(bitPattern: StoreChecksum.of(bytes, seed: seed))
    }

    static func entryCheck(_ encoded: Data, bodyCheck: Int64) -> Int64 {
        Int64(bitPattern: StoreChecksum.of(encoded, seed: UInt64(bitPattern: bodyCheck)))
    }
}

/// What a lookup has found: a whole entry, or a row to be removed.
struct FoundRow: Sendable {
    let number: Int64
    let id: Data
    /// Nil where the row does not agree with its checksums.
    let row: IndexRow?
}

/// What a change of the index has left without an entry: files, to be removed once the change is there.
struct FreedFiles: Sendable {
    var ids: [EntryID] = []
    /// How many rows went, with a file or without one.
    var rows = 0
}
