public import CurlewCore
internal import Foundation
public import FoundationNetworking

// Conversions from and to the cookies of Foundation, curl and wget.

extension Cookie {
    /// The cookie as Foundation's type. `nil` for a cookie without a name, which Foundation cannot represent.
    public var httpCookie: HTTPCookie? {
        // Foundation would accept an empty name and then send an equals sign that the server did not set.
        guard !name.isEmpty else { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .path: path, .domain: isHostOnly ? domain : "." + domain,
        ]
        if let expires { properties[.expires] = expires }
        if isSecure { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[Self.httpOnly] = "TRUE" }
        return HTTPCookie(properties: properties)
    }

    /// Creates a cookie from Foundation's type. A domain without a leading dot is for that host only.
    public init(_ cookie: HTTPCookie) {
        self.init(
            name: cookie.name,
            value: cookie.value,
            domain: cookie.domain,
            path: cookie.path,
            expires: cookie.expiresDate,
            isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly,
            isHostOnly: !cookie.domain.hasPrefix("."),
            created: Date()
        )
    }

    // Foundation reads this property but has no constant for it.
    private static let httpOnly = HTTPCookiePropertyKey(rawValue: "HttpOnly")
}

extension CookieJar {
    /// All cookies that have not expired, as Foundation's type. Cookies without a name are omitted.
    public var httpCookies: [HTTPCookie] { cookies.compactMap(\.httpCookie) }

    /// Stores a cookie of Foundation's type. Returns false if the cookie could never be sent.
    @discardableResult
    public func set(_ cookie: HTTPCookie) -> Bool { set(Cookie(cookie)) }

    /// Stores the cookies of a file in Netscape's format, as curl and wget write it. Invalid lines and expired cookies
    /// are skipped. Returns the number of stored cookies.
    @discardableResult
    public func importNetscape(_ text: String) -> Int {
        let now = Date()
        return set(NetscapeCookieFile.cookies(in: text, now: now).filter { !$0.isExpired(at: now) })
    }

    /// Returns all cookies that have not expired in Netscape's format, including session cookies.
    public func exportNetscape() -> String { NetscapeCookieFile.text(of: cookies) }
}
