internal import CurlewCore
internal import Foundation

/// An entry as the index stores it.
struct IndexRow: Sendable {
    let id: EntryID
    let entry: CacheEntry
    let encoded: Data
    /// The size of the body, and whether it is stored in a separate file.
    let size: Int64
    let isFile: Bool
    /// The body itself, or the checksums of the pieces of its file.
    let bytes: Data

    /// `encoded` is the data that `entry` was decoded from, if any.
    init(id: EntryID, entry: CacheEntry, encoded: Data? = nil, size: Int64, isFile: Bool, bytes: Data) {
        self.id = id
        self.entry = entry
        self.size = size
        self.isFile = isFile
        self.bytes = bytes
        self.encoded = encoded ?? entry.encoded
    }

    var place: IndexPlace { IndexPlace(entry.key, variant: entry.variant) }

    // The checksum of the entry covers that of the body, which covers its size. This detects parts of different rows.
    var bodyCheck: Int64 { Self.bodyCheck(bytes, size: size, isFile: isFile) }
    var entryCheck: Int64 { Self.entryCheck(encoded, bodyCheck: bodyCheck) }

    /// The approximate number of bytes on the disk. SQLite uses whole pages for large values, and file systems use
    /// whole blocks for files.
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

/// A row that a lookup found. It holds an entry, or is damaged and should be removed.
struct FoundRow: Sendable {
    let number: Int64
    let id: Data
    /// `nil` if the row does not match its checksums.
    let row: IndexRow?
}

/// The files that a change of the index has left without an entry. Remove them after the change is committed.
struct FreedFiles: Sendable {
    var ids: [EntryID] = []
    /// The number of rows removed, with or without a file.
    var rows = 0
}
