internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("HSTS and proxy exclusions", .timeLimit(.minutes(4)))
struct HostListTests {
    static let now = Date(timeIntervalSince1970: 1_700_000_000)

    static func list(_ value: String, from url: String = "https://a.test/") throws -> HSTSList {
        var list = HSTSList()
        list.receive(["Strict-Transport-Security": value], from: try #require(URL(string: url)), at: now)
        return list
    }

    static let upgrades: [(String, String, String)] = [
        ("max-age=10", "http://a.test/x?y", "https://a.test/x?y"),
        ("max-age=10", "http://A.TEST:80/", "https://A.TEST/"),
        ("max-age=10", "http://a.test:8080/", "https://a.test:8080/"),
        ("max-age=10", "http://b.a.test/", "http://b.a.test/"),
        ("max-age=10; includeSubDomains", "http://b.a.test/", "https://b.a.test/"),
        ("max-age=10", "http://a.test./x", "https://a.test./x"),
        ("max-age=10", "http://a%2Etest/", "https://a.test/"),
        ("max-age=10; includeSubDomains", "http://b.a.test.:80/", "https://b.a.test./"),
        ("max-age=10", "https://a.test/", "https://a.test/"),
        ("max-age=10; includeSubDomains", "http://ba.test/", "http://ba.test/"),
        ("max-age=0", "http://a.test/", "http://a.test/"),
        ("nonsense", "http://a.test/", "http://a.test/"),
    ]

    @Test("only http URLs of known HSTS hosts become https", arguments: upgrades)
    func upgrade(value: String, url: String, expected: String) throws {
        #expect(try Self.list(value).upgraded(try #require(URL(string: url)), at: Self.now).absoluteString == expected)
    }

    @Test("a dot at the end of a host is ignored")
    func rootDot() throws {
        let list = try Self.list("max-age=10", from: "https://a.test./")
        #expect(list.entries.keys.sorted() == ["a.test"])
        #expect(list.contains("a.test", at: Self.now) && list.contains("A.test.", at: Self.now))
    }

    @Test(
        "an HSTS policy is ignored over http and from an IP address",
        arguments: ["http://a.test/", "https://1.2.3.4/", "https://[::1]/"])
    func origins(url: String) throws { #expect(try Self.list("max-age=10", from: url).entries.isEmpty) }

    @Test("HSTS entries expire, can be removed by their host, are limited in number, and can be encoded")
    func life() throws {
        var list = HSTSList(limit: 2)
        for (host, age) in [("a", 30), ("b", 10), ("c", 20)] {
            list.receive(
                ["strict-transport-security": "max-age=\(age)"],
                from: try #require(URL(string: "https://\(host).test")), at: Self.now)
        }
        #expect(list.entries.keys.sorted() == ["a.test", "c.test"])
        #expect(try JSONDecoder().decode(HSTSList.self, from: JSONEncoder().encode(list)) == list)
        #expect(list.contains("C.test", at: Self.now + 19) && !list.contains("c.test", at: Self.now + 20))
        #expect(!list.contains("1.2.3.4", at: Self.now) && !list.contains("", at: Self.now))
        list.removeExpired(at: Self.now + 25)
        #expect(list.entries.count == 1)
        list.receive(
            ["Strict-Transport-Security": "max-age=0"], from: try #require(URL(string: "https://a.test")), at: Self.now)
        #expect(list.entries.isEmpty)
        list.removeAll()
    }

    static let announcements: [(seconds: Double, field: String, isNews: Bool)] = [
        (1, "max-age=31536000", false), (3599, "max-age=31536000", false), (3600, "max-age=31536000", true),
        (1, "max-age=31536000; includeSubDomains", true), (1, "max-age=31535999", false), (1, "max-age=86400", true),
        // The server counts down to a fixed time, so the expiry has not moved.
        (50_000, "max-age=31486000", false), (1, "max-age=0", true), (1, "nonsense", false),
        // A short lifetime moves the expiry to a much earlier time.
        (1, "max-age=20", true),
    ]

    @Test(
        "a repeated HSTS policy applies at once, and is a change if its scope differs or its expiry has moved far",
        arguments: announcements)
    func news(seconds: Double, field: String, isNews: Bool) throws {
        var list = try Self.list("max-age=31536000")
        let (later, url) = (Self.now + seconds, try #require(URL(string: "https://a.test/")))
        #expect(list.receive(["Strict-Transport-Security": field], from: url, at: later) == isNews)
        guard let policy = StrictTransportSecurity(field) else { return }
        #expect(list.contains("a.test", at: later + Double(policy.maxAge) - 1) == (policy.maxAge > 0))
        #expect(!list.contains("a.test", at: later + Double(policy.maxAge)))
    }

    @Test("an HSTS expiry that moves in small steps is a change once the steps add up")
    func creeping() throws {
        var list = try Self.list("max-age=100")
        let url = try #require(URL(string: "https://a.test/"))
        let news = (1...35).filter {
            list.receive(["Strict-Transport-Security": "max-age=100"], from: url, at: Self.now + Double($0))
        }
        #expect(news == [10, 20, 30])
    }

    @Test("proxy exclusions match domains, addresses, networks and the asterisk")
    func exclusions() {
        #expect(ProxyExclusions("*").contains("anything") && !ProxyExclusions("").contains("a"))
        let exclusions = ProxyExclusions(["a.test", ".b.test", "10.0.0.0/8", "::1"])
        for host in ["a.test", "x.A.test", "b.test", "10.9.8.7", "::1", "0:0:0:0:0:0:0:1"] {
            #expect(exclusions.contains(host))
        }
        for host in ["aa.test", "11.0.0.1", "::2", "test", ""] { #expect(!exclusions.contains(host)) }
        #expect(!ProxyExclusions("a b,c").contains("c") && !ProxyExclusions("1.2.3.4/").contains("1.2.3.4"))
    }
}
