public import CurlewCore
internal import Foundation
public import FoundationNetworking

// Cookies in the forms that others have.

extension Cookie {
    /// Foundation's form of the cookie; nil where Foundation has none (a cookie without a name).
    public var httpCookie: HTTPCookie? {
        // It makes one without a name, and then sends it with an equals sign that the server did not set.
        guard !name.isEmpty else { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .path: path, .domain: isHostOnly ? domain : "." + domain,
        ]
        if let expires { properties[.expires] = expires }
        if isSecure { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[Self.httpOnly] = "TRUE" }
        return HTTPCookie(properties: properties)
    }

    /// A cookie of Foundation's. A domain without a leading dot is that host's alone.
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

    // Foundation reads it and has no name for it.
    private static let httpOnly = HTTPCookiePropertyKey(rawValue: "HttpOnly")
}

extension CookieJar {
    /// Every cookie that has not expired, as Foundation's.
    public var httpCookies: [HTTPCookie] { cookies.compactMap(\.httpCookie) }

    /// Puts a cookie of Foundation's in. False where it could not be sent.
    @discardableResult
    public func set(_ cookie: HTTPCookie) -> Bool { set(Cookie(cookie)) }

    /// Puts in the cookies of a file in Netscape's format, as curl and wget write it. Lines that make no sense and
    /// cookies that have expired are left out; how many were taken.
    @discardableResult
    public func importNetscape(_ text: String) -> Int {
        let now = Date()
        return set(NetscapeCookieFile.cookies(in: text, now: now).filter { !$0.isExpired(at: now) })
    }

    /// Every cookie that has not expired in Netscape's format, those that end with the session included.
    public func exportNetscape() -> String { NetscapeCookieFile.text(of: cookies) }
}
