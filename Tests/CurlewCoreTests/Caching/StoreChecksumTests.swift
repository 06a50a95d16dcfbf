import CurlewCore
import Foundation
import Testing

@Suite("The checksum of stores")
struct StoreChecksumTests {
    // XXH64 of the first `count` bytes of 3, 10, 17, …, by the reference implementation, with the seeds 0 and
    // 0x9E3779B97F4A7C15.
    private static let rows: [(count: Int, plain: UInt64, seeded: UInt64)] = [
        (0, 0xef46db3751d8e999, 0xc4349fc93c010000),
        (1, 0x1f25c8d0bc1f4bb6, 0x79826bcd749d267a),
        (3, 0x31d2363f52e564c9, 0x78efd77575e26575),
        (4, 0x9bb64b7d66ee9fda, 0x6f0a6c97d68bf353),
        (7, 0x9a7b149959ce60d8, 0xd97ede93c9d66a0d),
        (8, 0xdab99d95c6f90092, 0xa2f1e28437a78a1b),
        (31, 0xa2aa5f33cc4a6119, 0x755437271d1d0a84),
        (32, 0x23c3c17ef790fd97, 0xbf624b932c090428),
        (33, 0x50a7cfc7ba588784, 0x7aceaf1e9d34ea35),
        (63, 0x5e3e54b431c7493c, 0x2c8ddce5c85d0d9d),
        (64, 0x0eb64b3ef6eeb01f, 0x4af341f14e3a6fc9),
        (100, 0xa61f8d4c170fe531, 0xf6d8f65c625abb4f),
        (300, 0x240004dbee0ba6dc, 0x4724ccb36f2aee62),
    ]

    @Test("the checksum equals that of the reference implementation for data of many lengths", arguments: rows)
    func reference(row: (count: Int, plain: UInt64, seeded: UInt64)) {
        let data = Data((0..<row.count).map { UInt8(truncatingIfNeeded: $0 * 7 + 3) })
        #expect(StoreChecksum.of(data) == row.plain)
        #expect(StoreChecksum.of(data, seed: 0x9E37_79B9_7F4A_7C15) == row.seeded)
        // The bytes of a slice may not be aligned.
        #expect(StoreChecksum.of((Data([0]) + data)[1...]) == row.plain)
    }

    @Test("the checksum of a text is that of its UTF-8 bytes") func text() {
        #expect(StoreChecksum.of("ä") == StoreChecksum.of(Data("ä".utf8)))
    }
}
