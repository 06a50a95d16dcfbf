internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Cookie store", .timeLimit(.minutes(4)))
struct CookieStoreTests {
    static let now = Date(timeIntervalSince1970: 1_700_000_000)

    static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test("a cookie expires at its time, and after 400 days at the latest")
    func lifetime() throws {
        let url = try Self.url("https://a.test/")
        let store = Jar()
        store.receive("a=1; Max-Age=10", from: url, at: Self.now)
        store.receive("b=1; Max-Age=99999999999999999999", from: url, at: Self.now)
        store.receive("c=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", from: url, at: Self.now)
        store.receive("d=1", from: url, at: Self.now)
        #expect(store.header(for: url, at: Self.now) == "a=1; b=1; c=1; d=1")
        #expect(store.header(for: url, at: Self.now + 10) == "b=1; c=1; d=1")
        #expect(store.header(for: url, at: Self.now + 400 * 86_400) == "d=1")
        #expect(store.all(at: Self.now + 11).count == 3)
        store.removeExpired(at: Self.now + 11)
        #expect(store.count == 3)
        store.receive("d=; Max-Age=0", from: url, at: Self.now)
        store.remove { $0.name == "b" }
        #expect(store.all(at: Self.now).map(\.name) == ["c"])
        store.removeAll()
        #expect(store.header(for: url, at: Self.now) == nil)
    }

    @Test("a cookie whose default path is too long is refused")
    func endlessPath() throws {
        let store = Jar()
        let slashes = String(repeating: "/", count: 50_000)
        store.receive("n=secure; Secure", from: try Self.url("https://a.test/"), at: Self.now)
        #expect(!store.receive("n=1", from: try Self.url("http://a.test/x\(slashes)y"), at: Self.now))
        #expect(store.count == 1)
    }

    @Test("a replaced cookie keeps its position and its creation time")
    func replacing() throws {
        let url = try Self.url("http://a.test/")
        let store = Jar()
        for header in ["a=1", "b=1", "a=2"] { store.receive(header, from: url, at: Self.now) }
        store.receive("a=3", from: url, at: Self.now + 5)
        #expect(store.header(for: url, at: Self.now + 6) == "a=3; b=1")
        #expect(store.all(at: Self.now + 6).first?.created == Self.now)
    }

    static let hostTable: [(String, String, String, Bool)] = [
        ("https://a.test/", "x=1; Domain=test", "https://b.test/", false),
        ("https://localhost/", "x=1; Domain=localhost", "https://localhost/", true),
        ("https://127.0.0.1/", "x=1; Domain=127.0.0.1", "https://127.0.0.1/", true),
        ("https://127.0.0.1/", "x=1; Domain=127.0.0.1", "https://www.fancy.127.0.0.1/", false),
        ("https://127.0.0.1/", "x=1; Domain=127.0.0.1", "https://a.127.0.0.1/", false),
        ("https://127.0.0.1/", "x=1; Domain=127.0.0.2", "https://127.0.0.2/", false),
        ("https://127.0.0.1/", "x=1; Domain=0.0.1", "https://127.0.0.1/", false),
        ("https://0x7f.0.1/", "x=1; Domain=0.1", "https://0x7f.0.1/", false),
        ("https://0177.0.0.1/", "x=1; Domain=0.0.1", "https://0177.0.0.1/", false),
        ("https://2130706433/", "x=1", "https://127.0.0.1/", true),
        ("https://[::1]/", "x=1", "https://[::1]:8080/", true),
        ("https://a.test./", "x=1", "https://a.test/", true),
        ("https://a.test/", "x=1; Domain=a.test.", "https://a.test/", false),
        ("https://a.test./", "x=1; Domain=test.", "https://b.test./", false),
        ("https://a.test./", "x=1; Domain=test", "https://b.test./", false),
        ("https://bücher.test/", "x=1; Domain=bücher.test", "https://a.xn--bcher-kva.test/", true),
        ("https://A.Test/", "x=1", "https://a.test/", true),
        ("https://a.test/", "x=1; Secure", "http://a.test/", false),
        ("http://a.test/", "x=1; Secure", "https://a.test/", false),
        ("https://a.test/d/p", "x=1", "https://a.test/d", true),
        ("https://a.test/d/p", "x=1", "https://a.test/dx", false),
        ("https://a.test/d/p", "x=1; Path=p", "https://a.test/d/", true),
        ("https://a.test", "x=1", "https://a.test/any/where", true),
        ("https://a.test/", "__Host-x=1; Secure; Path=/", "https://a.test/", true),
        ("https://a.test/", "__Host-x=1; Secure", "https://a.test/", false),
        ("https://a.test/", "__Host-x=1; Secure; Path=/; Domain=a.test", "https://a.test/", false),
        ("https://a.test/", "__secure-x=1", "https://a.test/", false),
        ("https://a.test/", "=__Secure-x=1; Secure", "https://a.test/", false),
        ("https://a.test/", "x=a\u{1}b", "https://a.test/", false),
        ("https://a.test/", "", "https://a.test/", false),
        ("https://a.test/", "x=\(String(repeating: "v", count: 4096))", "https://a.test/", false),
    ]

    @Test("a cookie is sent only to the URLs that its domain, path and Secure attribute permit", arguments: hostTable)
    func hosts(from: String, header: String, to: String, isSent: Bool) throws {
        let store = Jar()
        store.receive(header, from: try Self.url(from), at: Self.now)
        #expect((store.header(for: try Self.url(to), at: Self.now) != nil) == isSent)
    }

    @Test("a cookie that is set over http cannot hide a Secure cookie")
    func secureStaysAlone() throws {
        let https = try Self.url("https://a.test/")
        let http = try Self.url("http://sub.a.test/")
        let store = Jar()
        store.receive("sid=good; Secure; Domain=a.test", from: https, at: Self.now)
        #expect(!store.receive("sid=evil; Domain=a.test", from: http, at: Self.now))
        #expect(!store.receive("sid=evil", from: http, at: Self.now))
        #expect(store.receive("other=1", from: http, at: Self.now))
        #expect(store.header(for: https, at: Self.now) == "sid=good")
    }

    @Test("an expired cookie blocks no other cookie, and passes on neither its position nor its creation time")
    func expiredIsGone() throws {
        let https = try Self.url("https://a.test/")
        let http = try Self.url("http://a.test/")
        let store = Jar()
        store.receive("sid=old; Secure; Max-Age=5", from: https, at: Self.now)
        store.receive("other=1", from: https, at: Self.now)
        #expect(!store.receive("sid=new", from: http, at: Self.now + 4))
        #expect(store.receive("sid=new", from: http, at: Self.now + 6))
        #expect(store.header(for: http, at: Self.now + 7) == "other=1; sid=new")
        #expect(store.all(at: Self.now + 7).last?.created == Self.now + 6)
        #expect(store.count == 2)
    }

    @Test("a cookie for a public suffix is refused unless the suffix itself sets it, for its own host only")
    func publicSuffixes() throws {
        struct Suffixes: PublicSuffixes {
            func isPublicSuffix(_ domain: String) -> Bool { domain == "github.test" }
            func registrableDomain(of domain: String) -> String? { nil }
        }
        let store = Jar(publicSuffixes: Suffixes())
        #expect(!store.receive("a=1; Domain=github.test", from: try Self.url("https://me.github.test/"), at: Self.now))
        #expect(store.receive("a=1; Domain=github.test", from: try Self.url("https://github.test/"), at: Self.now))
        #expect(store.header(for: try Self.url("https://me.github.test/"), at: Self.now) == nil)
    }

    @Test("a cookie that is set over http cannot shadow a Secure cookie of a parent or subdomain in its path")
    func shadows() throws {
        let store = Jar()
        store.receive("a=1; Secure; Path=/p", from: try Self.url("https://x.a.test/"), at: Self.now)
        let taken: [(String, String, Bool)] = [
            ("http://x.a.test/", "a=2; Path=/p", false), ("http://x.a.test/", "a=2; Path=/p/q", false),
            ("http://x.a.test/", "a=2; Path=/pq", true), ("http://x.a.test/", "a=2; Path=/", true),
            ("http://x.a.test/", "b=2; Path=/p", true), ("http://y.a.test/", "a=2; Domain=a.test; Path=/p", false),
            ("http://y.a.test/", "a=2; Path=/p", true), ("http://y.x.a.test/", "a=2; Path=/p", false),
            ("http://other.test/", "a=2; Path=/p", true),
        ]
        for (url, header, isTaken) in taken {
            #expect(store.receive(header, from: try Self.url(url), at: Self.now) == isTaken, "\(url) \(header)")
        }
    }

    @Test(
        "beyond a domain's limit, expired cookies are removed, then those without Secure, then the least recently used")
    func evictionInDomain() throws {
        let url = try Self.url("https://a.test/")
        let store = Jar(limits: .init(perDomain: 3, total: 100))
        for (index, header) in ["s1=1; Secure", "p1=1", "p2=1; Max-Age=5", "s2=1; Secure"].enumerated() {
            store.receive(header, from: url, at: Self.now + Double(index))
        }
        #expect(store.all(at: Self.now + 4).map(\.name) == ["s1", "p2", "s2"])
        store.receive("s3=1; Secure", from: url, at: Self.now + 10)
        #expect(store.all(at: Self.now + 10).map(\.name) == ["s1", "s2", "s3"])
        store.receive("s4=1; Secure", from: url, at: Self.now + 11)
        #expect(store.all(at: Self.now + 11).map(\.name) == ["s2", "s3", "s4"])
    }

    @Test("beyond the total limit, the least recently used cookie is removed, whatever its domain")
    func evictionInAll() throws {
        let store = Jar(limits: .init(perDomain: 10, total: 3))
        for (index, host) in ["a", "b", "c"].enumerated() {
            store.receive("x=1", from: try Self.url("https://\(host).test/"), at: Self.now + Double(index))
        }
        _ = store.header(for: try Self.url("https://a.test/"), at: Self.now + 5)
        store.receive("x=1", from: try Self.url("https://d.test/"), at: Self.now + 6)
        #expect(store.all(at: Self.now + 6).map(\.domain) == ["a.test", "c.test", "d.test"])
    }

    @Test("a cookie that a program makes is checked before it is stored")
    func byHand() {
        let store = Jar()
        let cookie = Cookie(name: "a", value: "b", domain: ".A.Test", path: "x", created: Self.now)
        #expect(cookie.domain == "a.test" && cookie.path == "/" && cookie.pair == "a=b")
        #expect(store.set(cookie, at: Self.now))
        for (name, value) in [
            ("a\r\n", "b"), ("a", "b\r\nX: y"), ("a;", "b"), ("a=", "b"), ("a", "b;c"), ("", ""), ("a", "\0"),
        ] {
            #expect(!store.set(Cookie(name: name, value: value, domain: "a.test", created: Self.now), at: Self.now))
        }
        #expect(store.count == 1)
    }

    @Test("the attributes of a Set-Cookie field are parsed")
    func attributes() throws {
        let parsed = SetCookieParser.parse(
            "n=v; SameSite=Lax; HttpOnly; secure=x; Path=/a; Domain=.b.test; Max-Age=-1; Expires=x; Foo=bar; Max-Age=1x"
        )
        #expect(parsed?.name == "n" && parsed?.value == "v" && parsed?.lifetime == .seconds(0))
        #expect(parsed?.domain == "b.test" && parsed?.path == "/a" && parsed?.sameSite == .lax)
        #expect(parsed?.isSecure == true && parsed?.isHTTPOnly == true)
        #expect(SetCookieParser.parse("n=v; Path=/\(String(repeating: "x", count: 1024))")?.path == nil)
    }

    @Test("Netscape cookie files are written and read back")
    func netscape() throws {
        let store = Jar()
        let url = try Self.url("https://a.test/p/")
        for header in ["a=1; HttpOnly; Secure", "b=2; Domain=a.test; Max-Age=60; Path=/", "c=x=y; Max-Age=100"] {
            store.receive(header, from: url, at: Self.now)
        }
        let text = NetscapeCookieFile.text(
            of: store.all(at: Self.now) + [Cookie(name: "t", value: "a\tb", domain: "x", created: Self.now)])
        #expect(text.contains("#HttpOnly_a.test\tFALSE\t/p\tTRUE\t0\ta\t1\n"))
        #expect(text.contains(".a.test\tTRUE\t/\tFALSE\t1700000060\tb\t2\n"))
        #expect(NetscapeCookieFile.cookies(in: text, now: Self.now) == store.all(at: Self.now))
        let odd =
            "# comment\n\nshort\tline\na.test\tFALSE\tnopath\tFALSE\t0\tn\tv\na.test\tFALSE\t/\tFALSE\tsoon\tn\tv\na.test\tFALSE\t/\tFALSE\t0\tn\n"
        #expect(NetscapeCookieFile.cookies(in: odd, now: Self.now).map(\.pair) == ["n="])
    }
}

/// A class around a store, because `#expect` cannot call mutating methods.
private final class Jar {
    private var store: CookieStore
    private let publicSuffixes: (any PublicSuffixes)?

    init(limits: CookieStore.Limits = .init(), publicSuffixes: (any PublicSuffixes)? = nil) {
        store = CookieStore(limits: limits)
        self.publicSuffixes = publicSuffixes
    }

    var count: Int { store.count }
    func all(at now: Date) -> [Cookie] { store.all(at: now) }
    func header(for url: URL, at now: Date) -> String? { store.header(for: url, at: now) }
    func removeExpired(at now: Date) { store.removeExpired(at: now) }
    func removeAll() { store.removeAll() }
    func remove(where condition: (Cookie) -> Bool) { store.remove(where: condition) }
    func set(_ cookie: Cookie, at now: Date) -> Bool { store.set(cookie, at: now) }

    /// Stores the cookie of one `Set-Cookie` field. Returns `false` if it was refused.
    @discardableResult
    func receive(_ header: String, from url: URL, at now: Date) -> Bool {
        CookieStore.offer([header], from: url, at: now, publicSuffixes: publicSuffixes)
            .map { store.receive($0, at: now) == 1 } ?? false
    }
}
