public import CurlewCore
internal import Foundation

/// A secret that ties an authorization code to the client that has asked for it (RFC 7636).
///
/// ```swift
/// let pkce = try PKCE()
/// let page = try client.authorizationURL(state: state, pkce: pkce)
/// // … the user logs in, and the browser comes back with a code …
/// let token = try await client.token(code: code, pkce: pkce)
/// ```
///
/// Store `verifier` until the code has come, for instance in the user's session.
public struct PKCE: Sendable, Hashable {
    /// The secret: 43 to 128 letters, digits, `-`, `.`, `_` and `~`.
    public let verifier: String
    /// The SHA-256 of the verifier, which is part of the authorization request.
    public let challenge: String
    /// The name of the method that derives the challenge from the verifier.
    public static let method = "S256"

    /// Creates a random verifier with 256 bits. Throws if libcrypto has no SHA-256.
    public init() throws(CurlewError) {
        var generator = SystemRandomNumberGenerator()
        try self.init(verifier: Self.base64URL((0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }))
    }

    /// Uses a stored verifier. Throws if it is not one.
    public init(verifier: String) throws(CurlewError) {
        guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(Self.isPermitted) else {
            throw CurlewError(
                .requestCreationFailed, phase: .creation,
                reason: "a code verifier has 43 to 128 letters, digits, -, ., _ and ~")
        }
        let digest = try Digest(.sha256)
        var text = verifier
        text.withUTF8 { digest.update(UnsafeRawBufferPointer($0)) }
        self.verifier = verifier
        challenge = Self.base64URL(digest.finish())
    }

    /// Base64 for URLs, without padding (RFC 4648, 5).
    private static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func isPermitted(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || ASCII.isDigit(byte) || "-._~".utf8.contains(byte)
    }
}

extension PKCE: CustomStringConvertible, CustomReflectable {
    /// The challenge, without the verifier.
    public var description: String { "\(Self.method) \(challenge)" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
