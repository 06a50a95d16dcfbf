package import Foundation

/// The checksum of stores outside the process: XXH64.
///
/// It detects damage by a disk, a full file system or a killed process. It does not protect against deliberate changes.
package enum StoreChecksum {
    private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5
    )

    /// Returns the checksum of bytes. Different seeds separate data that must not be mistaken for each other.
    package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        let count = bytes.count
        var position = 0
        var hash: UInt64
        if count >= 32 {
            var (a, b) = (seed &+ primes.0 &+ primes.1, seed &+ primes.1)
            var (c, d) = (seed, seed &- primes.0)
            while position <= count - 32 {
                a = round(a, word(bytes, position))
                b = round(b, word(bytes, position + 8))
                c = round(c, word(bytes, position + 16))
                d = round(d, word(bytes, position + 24))
                position += 32
            }
            hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
            for lane in [a, b, c, d] { hash = (hash ^ round(0, lane)) &* primes.0 &+ primes.3 }
        } else {
            hash = seed &+ primes.4
        }
        hash &+= UInt64(count)
        while position <= count - 8 {
            hash = rotate(hash ^ round(0, word(bytes, position)), 27) &* primes.0 &+ primes.3
            position += 8
        }
        if position <= count - 4 {
            let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            hash = rotate(hash ^ (UInt64(half) &* primes.0), 23) &* primes.1 &+ primes.2
            position += 4
        }
        while position < count {
            hash = rotate(hash ^ (UInt64(bytes[position]) &* primes.4), 11) &* primes.0
            position += 1
        }
        return avalanche(hash)
    }

    package static func of(_ data: Data, seed: UInt64 = 0) -> UInt64 {
        data.withUnsafeBytes { of($0, seed: seed) }
    }

    /// The checksum of a text's UTF-8.
    package static func of(_ text: String, seed: UInt64 = 0) -> UInt64 {
        var text = text
        return text.withUTF8 { of(UnsafeRawBufferPointer($0), seed: seed) }
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
        value &<< count | value &>> (64 &- count)
    }

    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotate(lane &+ word &* primes.1, 31) &* primes.0
    }

    private static func avalanche(_ value: UInt64) -> UInt64 {
        var hash = (value ^ value &>> 33) &* primes.1
        hash = (hash ^ hash &>> 29) &* primes.2
        return hash ^ hash &>> 32
    }
}
