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

/// The position of an entry in the index: checksums of the parts of its key and of its variant. Different keys can have
/// equal checksums, so lookups compare the full key as well.
struct IndexPlace: Sendable, Hashable {
    let origin: Int64
    let url: Int64
    let key: Int64
    let variant: Int64

    init(_ key: CacheKey, variant: String = "") {
        origin = Self.origin(key.origin)
        url = Self.url(key.url)
        self.key = Self.key(key)
        self.variant = Self.variant(variant)
    }

    static func key(_ key: CacheKey) -> Int64 { Int64(bitPattern: StoreChecksum.of(key.text)) }

    static func variant(_ variant: String) -> Int64 { Int64(bitPattern: StoreChecksum.of(variant)) }

    static func origin(_ origin: String) -> Int64 { Int64(bitPattern: StoreChecksum.of(origin)) }

    static func url(_ url: String) -> Int64 { Int64(bitPattern: StoreChecksum.of(url)) }
}

/// An entry's `id` as 16 bytes. Only ids of the form that the cache generates are accepted, so that each can name a
/// file.
struct EntryID: Sendable, Hashable {
    let data: Data

    init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 32 else { return nil }
        var bytes = Data(capacity: 16)
        for index in stride(from: 0, to: 32, by: 2) {
            guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        data = bytes
    }

    /// Creates an id from the bytes in the index.
    init?(stored: Data) {
        guard stored.count == 16 else { return nil }
        data = stored
    }

    /// The id as lower-case hexadecimal digits.
    var text: String {
        data.withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
                for (index, byte) in bytes.enumerated() {
                    digits[2 * index] = Self.digit(byte >> 4)
                    digits[2 * index + 1] = Self.digit(byte & 15)
                }
                return 2 * bytes.count
            }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    // Capital letters would give one id two file names.
    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
