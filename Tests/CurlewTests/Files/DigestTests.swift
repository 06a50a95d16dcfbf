import CurlewCore
import Foundation
import Testing

@testable import Curlew

@Suite("Checksums", .timeLimit(.minutes(4)))
struct DigestTests {
    /// Digests of "abc", from the standards that define the algorithms.
    static let known: [(ChecksumAlgorithm, String)] = [
        (.md5, "900150983cd24fb0d6963f7d28e17f72"),
        (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ]

    @Test("digests have the standards' values, however the bytes are split", arguments: known)
    func standard(_ algorithm: ChecksumAlgorithm, _ hex: String) throws {
        for split in 0...3 {
            let digest = try Digest(algorithm)
            let bytes = Array("abc".utf8)
            bytes[..<split].withUnsafeBytes { digest.update($0) }
            bytes[split...].withUnsafeBytes { digest.update($0) }
            #expect(Checksum.hex(digest.finish()) == hex)
        }
        let expected = try #require(Checksum(algorithm, hex: hex.uppercased()))
        #expect(expected.bytes.count == algorithm.byteCount)
        #expect(expected.description == "\(algorithm.rawValue):\(hex)")
    }

    @Test("an empty input has a digest")
    func empty() throws {
        let digest = try Digest(.sha256)
        #expect(Checksum.hex(digest.finish()).hasPrefix("e3b0c44298fc1c14"))
    }

    @Test(
        "a malformed checksum is rejected",
        arguments: ["", "ab", String(repeating: "g", count: 32), String(repeating: "a", count: 31), "é"])
    func malformed(_ hex: String) { #expect(Checksum(.md5, hex: hex) == nil) }
}
