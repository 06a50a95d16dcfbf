internal import CurlewCore
internal import Foundation

/// What an OAuth 2 client was created with.
struct OAuth2Settings: Sendable {
    let tokenURL: URL
    let authorizationURL: URL?
    let deviceAuthorizationURL: URL?
    let redirectURL: URL?
    let clientID: String
    let clientSecret: String?
    let authentication: OAuth2Client.ClientAuthentication
    let scope: String?
    let parameters: [String: String]
    let expirySkew: Duration
    let onChange: (@Sendable (_ new: OAuth2Token, _ former: OAuth2Token?) async -> Void)?
    var time = Time()

    /// The clock, which tests replace.
    struct Time: Sendable {
        var now: @Sendable () -> Date = { Date() }
        /// Returns false if the waiting task is cancelled.
        var pause: @Sendable (Duration) async -> Bool = { await Pause.wait(for: $0) }
    }

    /// Whether others cannot read what is sent to the endpoint (RFC 6749, 3.2).
    static func protectsSecrets(_ url: URL) -> Bool {
        guard ASCII.lowercased(url.scheme ?? "") == "http" else { return true }
        let host = ASCII.lowercased(url.host() ?? "").trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        // A part with a leading zero is octal to libcurl.
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { part in
            part.utf8.first.map(ASCII.isDigit) == true && (part.count == 1 || part.first != "0") ? UInt8(part) : nil
        }
        return parts.count == 4 && parts[0] == 127 && !parts.contains(nil)
    }

    /// Throws if the client was created without an endpoint that a call needs.
    func endpoint(_ url: URL?, _ name: String) throws(CurlewError) -> URL {
        guard let url else {
            throw CurlewError(
                .requestCreationFailed, phase: .creation, reason: "the OAuth 2 client has no \(name)", url: tokenURL)
        }
        return url
    }
}
