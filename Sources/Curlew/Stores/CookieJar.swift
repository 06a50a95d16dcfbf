internal import CPSL
public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// The cookies of one user, shared by all sessions that use the jar.
///
///     let session = Session(configuration: SessionConfiguration { $0.cookies = CookieJar() })
///
/// A jar with a file reads it at creation, in Netscape's format as curl writes it, and writes it some time after a
/// change; `save()` writes it at once. Cookies without an expiry date are dropped when the program ends: they are not
/// written to the file unless the jar is created with `keepsSessionCookies`.
public final class CookieJar: Sendable {
    private let store: Lock<CookieStore>
    let file: StoredText?
    private let keepsSessionCookies: Bool
    private let publicSuffixes: any PublicSuffixes

    /// Creates an empty jar that is kept in memory only.
    public convenience init() { self.init(publicSuffixes: SystemPublicSuffixes()) }

    package init(publicSuffixes: any PublicSuffixes) {
        store = Lock(CookieStore())
        file = nil
        keepsSessionCookies = false
        self.publicSuffixes = publicSuffixes
    }

    /// Creates a jar that is kept in a file. If the file does not exist yet, the jar is empty.
    ///
    /// With `keepsSessionCookies` the file also contains the cookies without an expiry date, as curl's does, so that a
    /// login with such a cookie outlives the program. Every jar reads them if the file contains them.
    public convenience init(file url: URL, keepsSessionCookies: Bool = false) {
        self.init(file: url, keepsSessionCookies: keepsSessionCookies, publicSuffixes: SystemPublicSuffixes())
    }

    package init(file url: URL, keepsSessionCookies: Bool = false, publicSuffixes: any PublicSuffixes) {
        var store = CookieStore()
        let now = Date()
        // A damaged file is read as far as possible.
        if let bytes = try? Data(contentsOf: url) {
            let text = String(decoding: bytes, as: UTF8.self)
            store.set(NetscapeCookieFile.cookies(in: text, now: now), at: now)
        }
        self.store = Lock(store)
        self.keepsSessionCookies = keepsSessionCookies
        self.publicSuffixes = publicSuffixes
        file = StoredText(url)
    }

    /// All cookies that have not expired.
    public var cookies: [Cookie] { store.withLock { $0.all(at: Date()) } }

    /// The cookies that a request to `url` would send.
    public func cookies(for url: URL) -> [Cookie] { store.withLock { $0.cookies(for: url, at: Date()) } }

    /// Stores a cookie, replacing the one with the same name, domain and path. An expired cookie removes that one.
    /// Returns `false` if the cookie could never be sent.
    @discardableResult
    public func set(_ cookie: Cookie) -> Bool {
        let isSet = store.withLock { $0.set(cookie, at: Date()) }
        if isSet { changed() }
        return isSet
    }

    /// Stores several cookies. Returns how many of them could be sent.
    func set(_ cookies: [Cookie]) -> Int {
        let count = store.withLock { $0.set(cookies, at: Date()) }
        if count > 0 { changed() }
        return count
    }

    /// Removes the cookies that satisfy the condition.
    public func remove(where condition: (Cookie) -> Bool) {
        // The condition is the user's code, so it runs without the lock. Cookies that are stored meanwhile stay.
        let removed = Set(cookies.filter(condition))
        store.withLock { store in store.remove { removed.contains($0) } }
        changed()
    }

    /// Removes all cookies.
    public func removeAll() {
        store.withLock { $0.removeAll() }
        changed()
    }

    /// Writes the file at once. Does nothing for a jar in memory.
    public func save() async throws(CurlewError) {
        guard let file else { return }
        try await file.writeNow { self.text }
    }

    // MARK: Requests and responses

    /// The `Cookie` field for `url`.
    func header(for url: URL) -> String? {
        store.withLock { store in store.count == 0 ? nil : store.header(for: url, at: Date()) }
    }

    /// Stores the cookies of a response.
    func receive(_ headers: HTTPHeaders, from url: URL) {
        guard headers.contains(name: "Set-Cookie") else { return }
        let now = Date()
        // Parsed without the lock: a response may set thousands of cookies, and the list of suffixes may be the user's
        // code.
        let values = headers.values(for: "Set-Cookie")
        guard let offer = CookieStore.offer(values, from: url, at: now, publicSuffixes: publicSuffixes) else { return }
        store.withLock { _ = $0.receive(offer, at: now) }
        changed()
    }

    private func changed() { file?.writeSoon { self.text } }

    private var text: String {
        NetscapeCookieFile.text(of: keepsSessionCookies ? cookies : cookies.filter { $0.expires != nil })
    }
}

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

    /// Stores an `HTTPCookie`. Returns `false` if the cookie could never be sent.
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

/// The public suffix list of libpsl, which the distribution keeps up to date.
package struct SystemPublicSuffixes: PublicSuffixes {
    /// Uses the list that libpsl was built with, or a newer one of the system.
    package init() {}

    package func isPublicSuffix(_ domain: String) -> Bool {
        // `co.uk.` and `co.uk` are the same name, but libpsl knows only the second.
        let name = (domain.hasSuffix(".") ? domain.dropLast() : domain[...]).lowercased()
        guard let list = Self.list.pointer else { return !name.contains(".") }
        return psl_is_public_suffix2(list, name, PSL_TYPE_ANY) != 0
    }

    package func registrableDomain(of domain: String) -> String? {
        guard let list = Self.list.pointer, !domain.hasPrefix("."), !domain.hasSuffix(".") else { return nil }
        // libpsl compares labels as the list spells them: in lower case, in UTF-8 or as `xn--`. The result points into
        // `name`.
        return domain.lowercased().withCString { name in
            psl_registrable_domain(list, name).map { String(cString: $0) }
        }
    }

    /// The name and version of libpsl, or `nil` if it has no list.
    static var library: String? {
        list.pointer == nil ? nil : "libpsl " + String(cString: psl_get_version())
    }

    // SAFETY: the list is loaded once, never freed, and libpsl only reads it afterwards.
    private struct List: @unchecked Sendable {
        let pointer: OpaquePointer?
    }

    /// The system's file if it is newer than the list that libpsl was built with, otherwise the latter.
    private static let list = List(pointer: psl_latest(nil) ?? psl_builtin())
}
