package import Foundation

/// The SHA-256 of a public key, in the textual form of curl and RFC 7469.
package struct PublicKeyPin: Sendable, Hashable {
    private static let prefix = "sha256//"

    /// The 32 bytes of the hash.
    package let digest: Data

    /// Parses `sha256//<base64>`, or the base64 alone, which most tools print; `nil` unless it encodes 32 bytes.
    package init?(_ text: String) {
        let base64 = text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : text
        guard let digest = Data(base64Encoded: base64), digest.count == 32 else { return nil }
        self.digest = digest
    }

    /// The text for libcurl, which would read a text without the prefix as the path of a file.
    package var text: String { Self.prefix + digest.base64EncodedString() }
}
