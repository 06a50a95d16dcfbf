public import CurlewCore
internal import CurlewLocks
public import Foundation

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
        store = Lock(CookieStore(publicSuffixes: publicSuffixes))
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
        var store = CookieStore(publicSuffixes: publicSuffixes)
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
    /// Returns false if the cookie could never be sent.
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
