public import CurlewCore
internal import CurlewLocks
public import Foundation

/// The cookies of one user, shared by the sessions that are given the same jar.
///
///     let session = Session(configuration: SessionConfiguration { $0.cookies = CookieJar() })
///
/// A jar with a file reads it when it is made, in Netscape's format as curl writes it, and writes it some time
/// after a change of what it holds; `save()` writes it now. Cookies without an expiry date end with the program that received them, and
/// are not kept in the file unless the jar is made with `keepsSessionCookies`.
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

    /// A jar that is kept in a file. A file that does not exist yet is an empty jar.
    ///
    /// With `keepsSessionCookies` the file also has the cookies without an expiry date, as curl's has: a login that is
    /// one of those outlives the program. What such a file holds is read by every jar.
    public convenience init(file url: URL, keepsSessionCookies: Bool = false) {
        self.init(file: url, keepsSessionCookies: keepsSessionCookies, publicSuffixes: SystemPublicSuffixes())
    }

    package init(file url: URL, keepsSessionCookies: Bool = false, publicSuffixes: any PublicSuffixes) {
        var store = CookieStore(publicSuffixes: publicSuffixes)
        let now = Date()
        // What a crash or a full disk left of the file is taken as far as it goes.
        if let bytes = try? Data(contentsOf: url) {
            let text = String(decoding: bytes, as: UTF8.self)
            store.set(NetscapeCookieFile.cookies(in: text, now: now), at: now)
        }
        self.store = Lock(store)
        self.keepsSessionCookies = keepsSessionCookies
        self.publicSuffixes = publicSuffixes
        file = StoredText(url)
    }

    /// Every cookie that has not expired.
    public var cookies: [Cookie] { store.withLock { $0.all(at: Date()) } }

    /// The cookies that a request to `url` would carry.
    public func cookies(for url: URL) -> [Cookie] { store.withLock { $0.cookies(for: url, at: Date()) } }

    /// Puts a cookie in. False where it could not be sent.
    @discardableResult
    public func set(_ cookie: Cookie) -> Bool {
        let isSet = store.withLock { $0.set(cookie, at: Date()) }
        if isSet { changed() }
        return isSet
    }

    /// Puts several in, and says how many could be sent.
    func set(_ cookies: [Cookie]) -> Int {
        let count = store.withLock { $0.set(cookies, at: Date()) }
        if count > 0 { changed() }
        return count
    }

    /// Removes the cookies for which the condition is true.
    public func remove(where condition: (Cookie) -> Bool) {
        // The condition is foreign code, and what comes in while it runs stays.
        let removed = Set(cookies.filter(condition))
        store.withLock { store in store.remove { removed.contains($0) } }
        changed()
    }

    /// Empties the jar.
    public func removeAll() {
        store.withLock { $0.removeAll() }
        changed()
    }

    /// Writes the file now; nothing for a jar in memory.
    public func save() async throws(CurlewError) {
        guard let file else { return }
        try await file.writeNow { self.text }
    }

    // MARK: The pipeline

    /// The `Cookie` field for `url`.
    func header(for url: URL) -> String? {
        store.withLock { store in store.count == 0 ? nil : store.header(for: url, at: Date()) }
    }

    /// Takes in what a response sets.
    func receive(_ headers: HTTPHeaders, from url: URL) {
        guard headers.contains(name: "Set-Cookie") else { return }
        let now = Date()
        // Read without the lock: a response may set thousands, and the list of suffixes may be foreign code.
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
