import CurlewCore
import Foundation
import Testing

@Suite("Values of a connection snapshot")
struct ConnectionSnapshotTests {
    @Test(arguments: [
        ("https://Example.com/a?b#c", "https://example.com"), ("https://example.com:443", "https://example.com"),
        ("HTTP://u:p@example.com:8080/", "http://example.com:8080"), ("http://example.com:80", "http://example.com"),
        ("http://[::1]:8080/", "http://[::1]:8080"), ("wss://example.com/feed", "https://example.com"),
        ("ws://example.com", "http://example.com"), ("ftp://example.com", nil), ("/path", nil), ("https:///path", nil),
    ])
    func `an origin is scheme, host and port`(_ text: String, _ expected: String?) throws {
        let url = try #require(URL(string: text))
        #expect(ConnectionSnapshot.Origin(url)?.description == expected)
        #expect(ConnectionSnapshot.Origin.description(of: url) == expected)
    }

    @Test(arguments: [
        "http://127.0.0.1:8080/a", "http://example.com:08080", "http://example.com:", "http://example.com:443/",
        "https://example.com:443?a", "http://example.com:0", "http://a_b.example.com/", "http://example.com.#a",
        "https://xn--bcher-kva.example/%2e", "http://u@example.com/", "http://exa%6Dple.com/",
    ])
    func `the description of a URL's origin is the same with and without parsing the URL`(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(ConnectionSnapshot.Origin.description(of: url) == ConnectionSnapshot.Origin(url)?.description)
    }

    @Test func `totals are sums`() {
        var (one, two) = (ConnectionSnapshot.Pool(), ConnectionSnapshot.Pool())
        (one.open, one.inUse, one.opening, one.waiting) = (4, 1, 2, 7)
        (one.version, one.oldestAge) = (.http1_1, .seconds(9))
        (two.open, two.inUse, two.waiting, two.version, two.oldestAge) = (1, 1, 1, .http2, .seconds(3))
        let origin = { ConnectionSnapshot.Origin(scheme: "https", host: $0, port: 443) }
        let totals = ConnectionSnapshot(origins: [origin("a"): one, origin("b"): two]).totals
        #expect(totals.open == 5 && totals.inUse == 2 && totals.idle == 3)
        #expect(totals.opening == 2 && totals.waiting == 8)
        #expect(totals.version == .http2 && totals.oldestAge == .seconds(9))
        #expect(ConnectionSnapshot().totals == ConnectionSnapshot.Pool())
    }
}
