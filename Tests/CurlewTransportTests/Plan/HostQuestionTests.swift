import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Questions for a resolver")
struct HostQuestionTests {
    private func question(
        _ url: String,
        configure: (inout TransportConfiguration) -> Void = { _ in },
        _ change: (inout TransferRequest) -> Void = { _ in }
    ) throws -> HostQuestion? {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.dns.resolver = { _, _ in DNSAnswer(addresses: []) }
        configure(&configuration)
        var request = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: try #require(URL(string: url)))
        change(&request)
        let planner = RequestPlanner(configuration, RequestPlanTests.capabilities)
        return try planner.plan(request, bodyLength: nil).question
    }

    @Test(arguments: [
        ("http://shop.test/", "shop.test", 80, "shop.test"),
        ("https://Shop.TEST/", "shop.test", 443, "Shop.TEST"),
        ("https://shop.test.:8443/", "shop.test", 8443, "shop.test."),
        ("http://sh%6Fp.test/", "shop.test", 80, "shop.test"),
        ("http://ada:secret@shop.test:81/", "shop.test", 81, "shop.test"),
        ("http://bücher.test/", "xn--bcher-kva.test", 80, "xn--bcher-kva.test"),
        ("http://localhost.test/", "localhost.test", 80, "localhost.test"),
        ("http://notlocalhost/", "notlocalhost", 80, "notlocalhost"),
    ])
    func hostNameIsResolvedAsWrittenInURL(_ url: String, _ host: String, _ port: Int, _ key: String) throws {
        let question = try #require(try question(url))
        #expect(question.name == HostAndPort(host: host, port: port))
        #expect(question.key == key && question.isDirect)
        #expect(question.resolveEntry(["192.0.2.1", "2001:db8::1"]) == "+\(key):\(port):192.0.2.1,[2001:db8::1]")
    }

    @Test(arguments: [
        "http://127.0.0.1/", "http://[::1]/", "http://2130706433/", "http://0x7f.1/", "http://127.0.0.1./",
        "http://%31%32%37.0.0.1/",
    ])
    func addressLiteralsAreNotResolved(_ url: String) throws {
        #expect(try question(url) == nil)
    }

    /// RFC 6761, 6.3.
    @Test(arguments: [
        "http://localhost/", "https://LOCALHOST./", "http://localhos%74:8080/", "http://auth.localhost/",
        "http://a.b.localhost./",
    ])
    func localhostIsNotResolved(_ url: String) throws {
        #expect(try question(url) == nil)
        #expect(try question(url, configure: { $0.proxy = Self.proxy("socks5") }) == nil)
    }

    @Test(
        arguments: [
            { $0.dns.resolver = nil }, { $0.unixSocketPath = "/run/x" }, { $0.dns.overrides = ["shop.test": ["::1"]] },
            { $0.dns.overrides = ["SHOP.test:80": ["::1"]] }, { $0.tls.connectTo = ["shop.test:80": "other:81"] },
            { $0.tls.connectTo = [":": "other:81"] }, { $0.tls.connectTo = [":80": "other:81"] },
            { $0.proxy = Self.proxy("http") }, { $0.proxy = Self.proxy("https") }, { $0.proxy = Self.proxy("socks5h") },
            { $0.proxy = Self.proxy("socks4a") },
        ] as [@Sendable (inout TransportConfiguration) -> Void])
    func hostKnownToLibcurlOrProxyIsNotResolved(_ change: @Sendable (inout TransportConfiguration) -> Void) throws {
        #expect(try question("http://shop.test/", configure: change) == nil)
    }

    @Test(
        arguments: [
            { $0.dns.overrides = ["other.test": ["::1"], "shop.test:81": ["::1"]] },
            { $0.tls.connectTo = ["shop.test:81": "other:81", "other:80": "x:1"] },
            { $0.proxy = Self.proxy("http", exclusions: ["shop.test"]) },
        ] as [@Sendable (inout TransportConfiguration) -> Void])
    func optionsForOtherHostsDoNotPreventResolving(_ change: @Sendable (inout TransportConfiguration) -> Void) throws {
        #expect(try question("http://shop.test/", configure: change)?.isDirect == true)
    }

    @Test(arguments: ["socks4", "socks5", "SOCKS5"])
    func libcurlResolvesForProxiesThatNeedAddresses(_ scheme: String) throws {
        let configured = try question("http://shop.test/", configure: { $0.proxy = Self.proxy(scheme) })
        #expect(configured?.isDirect == false)
        let own = try question("http://shop.test/", configure: { _ in }) { $0.options.proxy = Self.proxy(scheme) }
        #expect(own?.isDirect == false)
    }

    private static func proxy(_ scheme: String, exclusions: [String] = []) -> Proxy {
        .url(URL(string: "\(scheme)://p.test:1080") ?? URL(filePath: "/"), exclusions: exclusions)
    }

    @Test(arguments: [
        ([:], ProxyPlan.Lookup.direct),
        (["http_proxy": "http://p.test:1"], .atProxy),
        (["http_proxy": "p.test:1"], .atProxy),
        (["http_proxy": "socks5://p.test:1"], .beforeProxy),
        (["all_proxy": "socks5h://p.test:1"], .atProxy),
        (["all_proxy": "SOCKS4://p.test:1"], .beforeProxy),
        (["http_proxy": "socks5://p.test:1", "no_proxy": "shop.test"], .direct),
        (["https_proxy": "http://p.test:1"], .direct),
        (["http_proxy": "", "all_proxy": "socks5://p.test:1"], .beforeProxy),
    ])
    func environmentProxyDecidesWhereHostIsResolved(_ environment: [String: String], _ lookup: ProxyPlan.Lookup) {
        #expect(
            ProxyPlan.lookup(of: "shop.test", isTLS: false, through: .environment, environment: environment) == lookup)
    }

    @Test func wildcardHostIsResolveFailed() throws {
        #expect { try question("http://*/") } throws: { CurlewError.Code.resolveFailed ~= $0 }
    }

    /// The settings of a kind of request can be cached, because the addresses are no part of them.
    @Test func resolverDoesNotChangeCachedSettings() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        let without = try settings(configuration)
        configuration.dns.resolver = { _, _ in DNSAnswer(addresses: []) }
        #expect(try settings(configuration) == without)
    }

    private func settings(_ configuration: TransportConfiguration) throws -> [OptionValue] {
        let request = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: try #require(URL(string: "http://shop.test/")))
        let planner = RequestPlanner(configuration, RequestPlanTests.capabilities)
        return try planner.plan(request, bodyLength: nil).settings
    }

    @Test(arguments: [(0, "60"), (5, "60"), (60, "60"), (120, "120")])
    func libcurlKeepsAnswersForAMinuteAtLeast(lifetime: Int, expected: String) throws {
        var dns = DNSConfiguration()
        dns.cacheLifetime = .seconds(lifetime)
        dns.resolver = { _, _ in DNSAnswer(addresses: []) }
        let texts = try DNSPlan.options(dns, RequestPlanTests.capabilities).map(\.description)
        #expect(texts == (expected == "60" ? [] : ["DNS_CACHE_TIMEOUT=\(expected)"]))
    }
}
