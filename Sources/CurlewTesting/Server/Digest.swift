internal import COpenSSL
internal import Foundation

/// An incremental SHA-256 or MD5, computed by libcrypto.
final class Digest {
    enum Algorithm { case md5, sha256 }

    private let context: OpaquePointer?

    init(_ algorithm: Algorithm) {
        context = EVP_MD_CTX_new()
        EVP_DigestInit_ex(context, algorithm == .md5 ? EVP_md5() : EVP_sha256(), nil)
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: some ContiguousBytes) {
        bytes.withUnsafeBytes { _ = EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
    }

    /// Returns the digest in lower-case hex. Call it once, after the last `update`.
    func finish() -> String {
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        EVP_DigestFinal_ex(context, &bytes, &count)
        return Self.hex(bytes.prefix(Int(count)))
    }

    static func hex(_ algorithm: Algorithm, of text: String) -> String { hex(algorithm, of: Data(text.utf8)) }

    static func hex(_ algorithm: Algorithm, of data: Data) -> String {
        let digest = Digest(algorithm)
        digest.update(data)
        return digest.finish()
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
