internal import CurlewCore
internal import Foundation

/// The stored form of an entry, with its body if that is small.
///
///     version    one byte, 1
///     checksum   8 bytes, over all that follows
///     size       8 bytes, of the body
///     length     4 bytes, of the encoded entry
///     entry      CacheEntry.encoded
///     rest       the body itself, or the checksums of its chunks (8 bytes each) if it is longer than `inlineLimit`
///
/// Numbers are little-endian.
struct RedisRecord: Sendable {
    /// The size of the largest body that is stored in its record.
    static let inlineLimit = 16 << 10
    /// The size of every chunk but the last.
    static let chunkSize = 512 << 10
    /// The number of chunks that are read together.
    static let chunksAtOnce = 8
    private static let headSize = 21
    private static let largestSize: Int64 = 1 << 50

    let entry: CacheEntry
    let size: Int64
    let rest: Data

    init(entry: CacheEntry, size: Int64, rest: Data) {
        self.entry = entry
        self.size = size
        self.rest = rest
    }

    var isInline: Bool { size <= Int64(Self.inlineLimit) }
    var chunkCount: Int { isInline ? 0 : Int((size + Int64(Self.chunkSize) - 1) / Int64(Self.chunkSize)) }

    func check(ofChunk number: Int) -> UInt64? {
        let offset = rest.startIndex + number * 8
        guard offset + 8 <= rest.endIndex else { return nil }
        return Self.number(rest[offset..<offset + 8])
    }

    static func check(_ chunk: Data, number: Int) -> UInt64 { StoreChecksum.of(chunk, seed: UInt64(number) + 1) }

    // MARK: Bytes

    var encoded: Data {
        let encoded = entry.encoded
        var rest = Data()
        rest.append(Self.bytes(UInt64(bitPattern: size), count: 8))
        rest.append(Self.bytes(UInt64(encoded.count), count: 4))
        rest.append(encoded)
        rest.append(self.rest)
        return Data([1]) + Self.bytes(StoreChecksum.of(rest), count: 8) + rest
    }

    /// `nil` if the bytes are not a complete record.
    init?(_ data: Data) {
        let data = Data(data)
        guard data.count >= Self.headSize, data[0] == 1, Self.number(data[1..<9]) == StoreChecksum.of(data[9...]) else {
            return nil
        }
        size = Int64(bitPattern: Self.number(data[9..<17]))
        let end = Self.headSize + Int(Self.number(data[17..<21]))
        // The bytes may be anything. A size above the limit belongs to no body, and its chunks could not be counted in
        // an `Int`.
        guard (0...Self.largestSize).contains(size), end <= data.count,
            let entry = CacheEntry(encoded: Data(data[Self.headSize..<end]))
        else {
            return nil
        }
        self.entry = entry
        rest = Data(data[end...])
        guard Int64(rest.count) == (isInline ? size : Int64(chunkCount) * 8) else { return nil }
    }

    static func bytes(_ number: UInt64, count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) })
    }

    private static func number(_ data: Data) -> UInt64 { data.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
