internal import COpenSSL
package import CurlewCore
package import Foundation

/// A digest that is computed piece by piece, for instance while a file grows. libcrypto uses the processor's
/// instructions for it. See EVP_DigestInit(3).
// SAFETY: used by one owner at a time. A download's digest belongs to the transport's thread while the exchange lasts,
// and to the run's file lane before and after; the lock of the download's state orders the handover.
package final class Digest: @unchecked Sendable {
    private let context: OpaquePointer

    /// Throws if the running libcrypto refuses the algorithm, for example MD5 in FIPS mode.
    package init(_ algorithm: ChecksumAlgorithm) throws(CurlewError) {
        guard let context = EVP_MD_CTX_new() else {
            throw CurlewError(.internal, phase: .file, reason: "no memory for a digest")
        }
        guard EVP_DigestInit_ex(context, Self.function(algorithm), nil) == 1 else {
            EVP_MD_CTX_free(context)
            throw .unsupported(feature: "the checksum \(algorithm.rawValue)", needs: "a libcrypto that allows it")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        EVP_DigestUpdate(context, start, bytes.count)
    }

    /// The digest of all bytes. Call it once; no bytes can be added afterwards.
    package func finish() -> [UInt8] {
        var count: UInt32 = 0
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        guard EVP_DigestFinal_ex(context, &bytes, &count) == 1 else { return [] }
        return Array(bytes.prefix(Int(count)))
    }

    /// Returns the digest in hexadecimal digits; `nil` if the running libcrypto refuses the algorithm.
    package static func hex(_ algorithm: ChecksumAlgorithm, of data: Data) -> String? {
        guard let digest = try? Digest(algorithm) else { return nil }
        data.withUnsafeBytes { digest.update($0) }
        return Checksum.hex(digest.finish())
    }

    package static func hex(_ algorithm: ChecksumAlgorithm, of text: String) -> String? {
        hex(algorithm, of: Data(text.utf8))
    }

    private static func function(_ algorithm: ChecksumAlgorithm) -> OpaquePointer? {
        switch algorithm {
        case .md5: EVP_md5()
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }
}
