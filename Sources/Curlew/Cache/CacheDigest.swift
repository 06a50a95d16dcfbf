internal import CurlewCore
internal import Foundation

/// Names for texts that must not be stored themselves.
enum CacheDigest {
    /// SHA-256 in hexadecimal digits.
    static func name(of text: String) -> String {
        guard let digest = try? Digest(.sha256) else {
            // A libcrypto without SHA-256 supports no TLS either. A unique name makes every lookup a miss.
            return newIdentifier()
        }
        var text = text
        text.withUTF8 { digest.update(UnsafeRawBufferPointer($0)) }
        return SignatureV4.hex(digest.finish())
    }

    /// 32 random hexadecimal digits, which identify an entry.
    static func newIdentifier() -> String {
        let numbers = [UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)]
        return SignatureV4.hex(
            numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } })
    }
}
