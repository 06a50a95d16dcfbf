import Curlew
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@Suite("Exchange of cookies with Foundation and curl", .timeLimit(.minutes(4)))
struct CookieExchangeTests {
    private static let expires = Date(timeIntervalSince1970: 4_000_000_000)

    static let cookies = [
        Cookie(name: "a", value: "1", domain: "example.org", created: Date()),
        Cookie(
            name: "b", value: "x=y", domain: "example.org", path: "/docs", expires: expires, isSecure: true,
            isHTTPOnly: true, isHostOnly: false, created: Date()),
    ]

    /// The properties that both forms can express.
    private func facts(_ cookie: Cookie) -> [String] {
        [
            cookie.name, cookie.value, cookie.domain, cookie.path, "\(cookie.expires?.timeIntervalSince1970 ?? 0)",
            "\(cookie.isSecure)", "\(cookie.isHTTPOnly)", "\(cookie.isHostOnly)",
        ]
    }

    @Test(arguments: cookies)
    func httpCookieHasTheSameAttributes(cookie: Cookie) throws {
        let foreign = try #require(cookie.httpCookie)
        #expect(foreign.name == cookie.name && foreign.value == cookie.value)
        #expect(facts(Cookie(foreign)) == facts(cookie))
    }

    @Test func namelessCookieIsOmittedFromHTTPCookies() {
        let jar = CookieJar()
        jar.set(Cookie(name: "", value: "bare", domain: "example.org", created: Date()))
        jar.set(Cookie(name: "a", value: "b", domain: "example.org", created: Date()))
        #expect(jar.httpCookies.map(\.name) == ["a"])
    }

    @Test func cookiesOfFoundationAreSent() async throws {
        let jar = CookieJar()
        let cookie = try #require(
            HTTPCookie(properties: [.name: "sid", .value: "1", .domain: ".example.org", .path: "/"]))
        #expect(jar.set(cookie))
        let session = Session(
            configuration: SessionConfiguration { $0.cookies = jar },
            transport: MockTransport { .text($0.headers["Cookie"] ?? "none") }
        )
        #expect(try await session.request("https://sub.example.org/").string() == "sid=1")
        #expect(try await session.request("https://example.com/").string() == "none")
        // A single request can opt out of cookies.
        var apart = URLRequest(url: try #require(URL(string: "https://example.org/")))
        apart.httpShouldHandleCookies = false
        #expect(try await session.request(apart).string() == "none")
    }

    @Test func explicitCookieFieldReplacesStoredCookies() async throws {
        let jar = CookieJar()
        let stored = try #require(
            HTTPCookie(properties: [.name: "sid", .value: "1", .domain: "example.org", .path: "/"]))
        jar.set(stored)
        let echo = MockTransport { .text($0.headers["Cookie"] ?? "none") }
        let plain = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: echo)
        let own = plain.request("https://example.org/", headers: ["Cookie": "own=1"])
        #expect(try await own.string() == "own=1")
        let shared = Session(
            configuration: SessionConfiguration {
                $0.cookies = jar
                $0.headers["Cookie"] = "shared=1"
            },
            transport: echo
        )
        #expect(try await shared.request("https://example.org/").string() == "shared=1")
    }

    @Test func requestWithoutCookieHandlingStoresNone() async throws {
        let jar = CookieJar()
        let session = Session(
            configuration: SessionConfiguration { $0.cookies = jar },
            transport: MockTransport { _ in .status(200, headers: ["Set-Cookie": "a=b"]) }
        )
        var apart = URLRequest(url: try #require(URL(string: "https://example.org/")))
        apart.httpShouldHandleCookies = false
        _ = try await session.request(apart).data()
        #expect(jar.cookies.isEmpty)
        _ = try await session.request("https://example.org/").data()
        #expect(jar.cookies.map(\.pair) == ["a=b"])
    }

    @Test func netscapeFileIsImportedAndExported() throws {
        let text = """
            # Netscape HTTP Cookie File
            .example.org\tTRUE\t/\tTRUE\t4000000000\tsid\tsecret
            #HttpOnly_example.org\tFALSE\t/docs\tFALSE\t0\tsession\tvalue
            example.org\tFALSE\t/\tFALSE\t1\told\tgone
            this line makes no sense

            """
        let jar = CookieJar()
        #expect(jar.importNetscape(text) == 2)
        #expect(Set(jar.cookies.map(\.name)) == ["sid", "session"])
        let other = CookieJar()
        #expect(other.importNetscape(jar.exportNetscape()) == 2)
        #expect(Set(other.cookies.map(facts)) == Set(jar.cookies.map(facts)))
    }

    @Test(arguments: ["co.uk", "co.uk.", "CO.UK", "com."])
    func publicSuffixIsKnownInEachSpelling(suffix: String) {
        #expect(SystemPublicSuffixes().isPublicSuffix(suffix))
        #expect(!SystemPublicSuffixes().isPublicSuffix("example." + suffix))
    }
}
