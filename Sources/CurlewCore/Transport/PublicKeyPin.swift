package import Foundation

/// The SHA-256 of a public key, in the text that curl and RFC 7469 make of it.
package struct PublicKeyPin: Sendable, Hashable {
    private static let prefix = "sha256//"

    /// The 32 bytes.
    package let digest: Data

    /// Reads `sha256//<base64>`, or the base64 alone, as most tools print it. nil where that is not 32 bytes.
    package init?(_ text: String) {
        let base64 = text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : text
        guard let digest = Data(base64Encoded: base64), digest.count == 32 else { return nil }
        self.digest = digest
    }

    /// As libcurl takes it: there, a text without the prefix is the path of a file.
    package var text: String { Self.prefix + digest.base64EncodedString() }
}
