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

/// Builds the names of the keys that a store uses in the server.
///
///     <prefix>k:<key>        a hash: variant → record, of all variants of one key
///     <prefix>u:<url>        a set: the names of these hashes, of all partitions of one URL
///     <prefix>o:<origin>     a set: the names of these sets, of all URLs of one origin
///     <prefix>b:<id>:<n>     a chunk of a body
///     <prefix>l:<key>        the claim of the process that sends the request of a key
struct RedisKeys: Sendable {
    let prefix: String

    func entries(_ key: CacheKey) -> String { prefix + "k:" + Self.digest(key.text) }
    func url(_ url: String) -> String { prefix + "u:" + Self.digest(url) }
    func origin(_ origin: String) -> String { prefix + "o:" + Self.digest(origin) }
    func claim(_ key: CacheKey) -> String { prefix + "l:" + Self.digest(key.text) }
    /// The prefix of the names of all chunks.
    var chunks: String { prefix + "b:" }
    func chunk(_ id: String, _ number: Int) -> String { "\(chunks)\(id):\(number)" }
    func chunks(_ id: String, count: Int) -> [String] { (0..<count).map { chunk(id, $0) } }

    /// The field of a variant in the hash of its key.
    static func field(_ variant: String) -> Data { Data(digest(variant).utf8) }

    /// The pattern that matches every key of the store, for `SCAN`.
    var everything: String {
        prefix.reduce(into: "") { pattern, character in
            if "*?[]\\^".contains(character) { pattern.append("\\") }
            pattern.append(character)
        } + "*"
    }

    // Two checksums make it unlikely that two keys share a name. A lookup compares the entry's own key as well.
    static func digest(_ text: String) -> String {
        let parts = [StoreChecksum.of(text), StoreChecksum.of(text, seed: 0x63_75_72_6C_65_77)]
        return parts.map { part in
            let digits = String(part, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
