/// The algorithm of a checksum.
public enum ChecksumAlgorithm: String, Sendable, Hashable, CaseIterable, Codable {
    /// SHA-256.
    case sha256
    /// SHA-512.
    case sha512
    /// SHA-384.
    case sha384
    /// SHA-1. Detects accidental damage, not attacks.
    case sha1
    /// MD5. Detects accidental damage, not attacks.
    case md5

    /// The length of the checksum in bytes.
    package var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}

/// The checksum that the bytes of a file must have.
package struct Checksum: Sendable, Hashable, CustomStringConvertible {
    package let algorithm: ChecksumAlgorithm
    package let bytes: [UInt8]

    /// Reads hexadecimal digits of either case. `nil` if their number is wrong for the algorithm or one is invalid.
    package init?(_ algorithm: ChecksumAlgorithm, hex: String) {
        let digits = Array(hex.utf8)
        guard digits.count == algorithm.byteCount * 2 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = ASCII.hexValue(digits[index]), let low = ASCII.hexValue(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    package var description: String { "\(algorithm.rawValue):\(Self.hex(bytes))" }

    /// Returns the bytes as lower-case hexadecimal digits.
    package static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
