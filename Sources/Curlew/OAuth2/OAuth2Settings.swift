internal import CurlewCore
internal import Foundation

/// The settings of an OAuth 2 client.
struct OAuth2Settings: Sendable {
    let tokenURL: URL
    let authorizationURL: URL?
    let deviceAuthorizationURL: URL?
    let redirectURL: URL?
    let issuer: String?
    let clientID: String
    let clientSecret: String?
    let authentication: OAuth2Client.ClientAuthentication
    let scope: String?
    let parameters: [String: String]
    let expirySkew: Duration
    let onChange: (@Sendable (_ new: OAuth2Token, _ former: OAuth2Token?) async -> Void)?
    var time = Time()

    /// The clocks, which tests replace.
    struct Time: Sendable {
        var now: @Sendable () -> Date = { Date() }
        var instant: @Sendable () -> ContinuousClock.Instant = { .now }
        /// Returns false if the waiting task is cancelled.
        var pause: @Sendable (Duration) async -> Bool = { await Pause.wait(for: $0) }
    }

    /// Returns an endpoint that a call needs. Throws if the client was created without it, or if others could read what
    /// is sent to it (RFC 6749, 3.1 and 3.2).
    func endpoint(_ url: URL?, _ name: String) throws(CurlewError) -> URL {
        func failed(_ reason: String, _ url: URL) -> CurlewError {
            CurlewError(.requestCreationFailed, phase: .creation, reason: reason, url: url)
        }
        guard let url else { throw failed("the OAuth 2 client has no \(name)", tokenURL) }
        guard Self.protectsSecrets(url) else {
            throw failed("the \(name) of an OAuth 2 client is an https URL, or an http URL of this machine", url)
        }
        return url
    }

    /// A URL without a scheme protects nothing: the session's base URL, which completes it, may be http.
    private static func protectsSecrets(_ url: URL) -> Bool {
        if usesTLS(url) { return true }
        guard ASCII.equalsIgnoringCase(url.scheme ?? "", "http") else { return false }
        let host = Hostname.withoutBrackets(url.host() ?? "")
        // libcurl knows the address of `localhost`, but before 7.85 it asks name servers for the names below it.
        // Only four decimal numbers are an address here: to libcurl, one with a leading zero is octal.
        return ASCII.equalsIgnoringCase(host, "localhost") || IPAddress(host)?.isLoopback == true
    }

    static func usesTLS(_ url: URL) -> Bool { ASCII.equalsIgnoringCase(url.scheme ?? "", "https") }
}
