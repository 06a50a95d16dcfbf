import CurlewCore
import Foundation
import StoreSupport
import Testing

@testable import CurlewRedis

@Suite("Records in Redis")
struct RedisRecordTests {
    private static let entry = EntryMaker { Date(timeIntervalSince1970: 1_700_000_000) }

    private static let records = [
        RedisRecord(entry: entry("a", headers: ["ETag": "\"e\""]), size: 10, rest: Data("0123456789".utf8)),
        RedisRecord(entry: entry("b", variant: "v"), size: 600_000, rest: bytes(16)),
    ]

    @Test("a record comes back as it was; a changed byte and a cut make it none", arguments: records.indices)
    func changed(at index: Int) throws {
        let record = Self.records[index]
        let encoded = record.encoded
        let read = try #require(RedisRecord(encoded))
        #expect(read.entry == record.entry && read.size == record.size && read.rest == record.rest)
        for place in encoded.indices {
            for bit in 0..<8 {
                var damaged = encoded
                damaged[place] ^= 1 << bit
                if RedisRecord(damaged) != nil { Issue.record("bit \(bit) of byte \(place)") }
            }
            #expect(RedisRecord(encoded.prefix(place)) == nil)
        }
        #expect(RedisRecord(encoded + [0]) == nil)
    }

    @Test(
        "sizes that no body has make it none, with the right checksum", arguments: [-1, .min, .max, .max - (512 << 10)])
    func sizes(_ size: Int64) {
        let encoded = Self.records[0].entry.encoded
        let rest =
            RedisRecord.bytes(UInt64(bitPattern: size), count: 8)
            + RedisRecord.bytes(UInt64(encoded.count), count: 4) + encoded
        #expect(RedisRecord(Data([1]) + RedisRecord.bytes(StoreChecksum.of(rest), count: 8) + rest) == nil)
    }
}
