public import Foundation

/// One cookie (RFC 6265bis), with all that decides where it is sent.
public struct Cookie: Sendable, Hashable, Codable {
    /// May be empty: such a cookie is sent as its value alone.
    public var name: String
    /// The value, as the server sent it.
    public var value: String
    /// The domain in lower case, without a leading dot.
    public var domain: String
    /// The path under which it is sent.
    public var path: String
    /// When the cookie expires; nil for a session cookie.
    public var expires: Date?
    /// Whether the cookie is sent over https only.
    public var isSecure: Bool
    /// Kept as sent: it keeps scripts off, and Curlew runs none.
    public var isHTTPOnly: Bool
    /// Sent to `domain` itself and not to names below it.
    public var isHostOnly: Bool
    /// Kept as sent: a client that is no browser has no sites.
    public var sameSite: SameSite?
    /// When it was first stored; of two with paths of one length the older is sent first.
    public var created: Date

    /// Which requests from other sites it goes with.
    public enum SameSite: String, Sendable, Hashable, Codable {
        /// With none.
        case strict
        /// With navigations only.
        case lax
        /// With all.
        case none
    }

    /// Creates a cookie; how a response's header becomes one is `CookieStore`'s business.
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

    /// Whether it is past its end.
    package func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// `name=value`, as in a `Cookie` header.
    public var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// Whether name and value may go onto the wire.
    package var isSendable: Bool {
        let name = name.utf8
        let value = value.utf8
        return !(name.isEmpty && value.isEmpty) && name.count + value.count <= SetCookieParser.maximumPairLength
            && !name.contains { SetCookieParser.isControl($0) || $0 == 0x3B || $0 == 0x3D }
            && !value.contains { SetCookieParser.isControl($0) || $0 == 0x3B }
    }
}

/// Which domains have no single owner, so that no cookie may be set for all below them (publicsuffix.org).
package protocol PublicSuffixes: Sendable {
    /// Whether names directly below `domain` belong to different owners (`com`, `co.uk`, `github.io`).
    func isPublicSuffix(_ domain: String) -> Bool
    /// The public suffix and one label more; nil where `domain` is itself a suffix.
    func registrableDomain(of domain: String) -> String?
}
