public import Foundation

/// A cookie (RFC 6265bis) with all attributes that determine which requests it is sent with.
public struct Cookie: Sendable, Hashable, Codable {
    /// The name. A cookie with an empty name is sent as its value alone.
    public var name: String
    /// The value, as the server sent it.
    public var value: String
    /// The domain in lower case, without a leading dot.
    public var domain: String
    /// The path at or below which the cookie is sent.
    public var path: String
    /// The date when the cookie expires; `nil` for a session cookie.
    public var expires: Date?
    /// Whether the cookie is sent over https only.
    public var isSecure: Bool
    /// Whether scripts must not see the cookie. Stored, but without effect: Curlew runs no scripts.
    public var isHTTPOnly: Bool
    /// Whether the cookie is sent to `domain` itself only, and not to its subdomains.
    public var isHostOnly: Bool
    /// The `SameSite` attribute. Stored, but without effect: only browsers have a notion of sites.
    public var sameSite: SameSite?
    /// The date when the cookie was created. A cookie that replaces another one keeps the earlier date.
    public var created: Date

    /// The requests from other sites that include the cookie.
    public enum SameSite: String, Sendable, Hashable, Codable {
        /// No requests.
        case strict
        /// Navigations only.
        case lax
        /// All requests.
        case none
    }

    /// Creates a cookie. To parse a `Set-Cookie` field, use a `CookieStore`.
    public init(
        name: String,
        value: String,
        domain: String,
        path: String = "/",
        expires: Date? = nil,
        isSecure: Bool = false,
        isHTTPOnly: Bool = false,
        isHostOnly: Bool = true,
        sameSite: SameSite? = nil,
        created: Date
    ) {
        self.name = name
        self.value = value
        self.domain = Hostname.canonical(domain.hasPrefix(".") ? String(domain.dropFirst()) : domain) ?? domain
        self.path = path.hasPrefix("/") ? path : "/"
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.isHostOnly = isHostOnly
        self.sameSite = sameSite
        self.created = created
    }

    package func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// `name=value`, as in a `Cookie` header.
    public var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// Whether name and value may be sent.
    package var isSendable: Bool {
        let name = name.utf8
        let value = value.utf8
        return !(name.isEmpty && value.isEmpty) && name.count + value.count <= SetCookieParser.maximumPairLength
            && !name.contains { SetCookieParser.isControl($0) || $0 == 0x3B || $0 == 0x3D }
            && !value.contains { SetCookieParser.isControl($0) || $0 == 0x3B }
    }
}

/// The domains whose subdomains belong to different owners (publicsuffix.org). No cookie may be set for such a domain
/// as a whole.
package protocol PublicSuffixes: Sendable {
    /// Whether `domain` is such a domain: `com`, `co.uk`, `github.io`.
    func isPublicSuffix(_ domain: String) -> Bool
    /// Returns the public suffix of `domain` and one more label; `nil` if `domain` is itself a suffix.
    func registrableDomain(of domain: String) -> String?
}
