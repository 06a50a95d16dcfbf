internal import CurlewCore
internal import Foundation

/// The division of a stored body into pieces. Each piece has a checksum, so that a range of the body can be verified
/// without reading the rest.
enum BodyPieces {
    /// The size of every piece but the last.
    static let size = 256 << 10

    static func check(_ bytes: UnsafeRawBufferPointer, of piece: Int64) -> UInt64 {
        StoreChecksum.of(bytes, seed: UInt64(piece))
    }

    static func check(_ bytes: Data, of piece: Int64) -> UInt64 {
        bytes.withUnsafeBytes { check($0, of: piece) }
    }

    /// The number of pieces of a body.
    static func count(_ size: Int64) -> Int64 { (size + Int64(Self.size) - 1) / Int64(Self.size) }

    /// The checksums as the index stores them: eight bytes each, little-endian.
    static func encoded(_ checks: [UInt64]) -> Data {
        var data = Data(capacity: checks.count * 8)
        for check in checks { withUnsafeBytes(of: check.littleEndian) { data.append(contentsOf: $0) } }
        return data
    }

    static func check(in encoded: Data, at piece: Int64) -> UInt64? {
        let offset = Int(piece) * 8
        guard piece >= 0, offset + 8 <= encoded.count else { return nil }
        return encoded.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
    }
}
