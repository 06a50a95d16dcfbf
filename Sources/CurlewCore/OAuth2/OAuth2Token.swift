public import Foundation

/// An access token of an authorization server, with the data to replace it (RFC 6749, 5.1).
///
/// `Codable` writes the tokens themselves: store them as you would store a password.
public struct OAuth2Token: Sendable, Hashable, Codable {
    /// The way in which a token was first obtained.
    public enum Grant: String, Sendable, Hashable, Codable {
        /// By the client for itself.
        case clientCredentials = "client_credentials"
        /// With a code, after a user had logged in.
        case authorizationCode = "authorization_code"
        /// After a user had confirmed a device.
        case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    }

    /// The token that requests carry.
    public var accessToken: String
    /// The token that is exchanged for another access token; `nil` if the server has issued none. An empty one counts
    /// as none.
    public var refreshToken: String?
    /// The end of the access token's life; `nil` if the server does not say.
    public var expires: Date?
    /// The time from which on the token is replaced before a request uses it; `nil` if only a rejection shows that it
    /// has expired.
    public var refreshDate: Date?
    /// The permissions of the token, as names separated by spaces; `nil` if unknown.
    public var scope: String?
    /// The user's identity as a signed token (OpenID Connect); `nil` if the server has issued none. It is not verified.
    public var idToken: String?
    /// The way in which the token was first obtained. A token of a user is never replaced by one of the client itself.
    public var grant: Grant

    /// Creates a token, for instance from stored values. Without a `refreshDate`, it is replaced a minute before it
    /// expires.
    public init(
        accessToken: String,
        refreshToken: String? = nil,
        expires: Date? = nil,
        refreshDate: Date? = nil,
        scope: String? = nil,
        idToken: String? = nil,
        grant: Grant = .authorizationCode
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expires = expires
        self.refreshDate = refreshDate ?? expires?.addingTimeInterval(-60)
        self.scope = scope
        self.idToken = idToken
        self.grant = grant
    }

    /// No token yet: the first request gets one with the client's own credentials.
    public static let unissued = OAuth2Token(accessToken: "", grant: .clientCredentials)

    /// Whether the token must be replaced before it is used.
    package func requiresRefresh(at now: Date) -> Bool {
        accessToken.isEmpty || refreshDate.map { $0 <= now } ?? false
    }
}

extension OAuth2Token: CustomStringConvertible, CustomReflectable {
    /// The grant, the scope and the end of the token's life, without the tokens.
    public var description: String {
        var parts = ["token by \(grant)"]
        if let scope { parts.append("scope \(Redaction.excerpt(of: scope, limit: 200))") }
        if let expires { parts.append("expires \(expires)") }
        if refreshToken != nil { parts.append("with a refresh token") }
        return parts.joined(separator: ", ")
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
