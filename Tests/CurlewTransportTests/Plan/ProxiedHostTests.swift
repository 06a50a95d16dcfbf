import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Hosts that are reached through a proxy")
struct ProxiedHostTests {
    struct Case: Sendable {
        let environment: [String: String]
        let host: String
        let isTLS: Bool
        let isProxied: Bool

        init(_ environment: [String: String], _ host: String, tls isTLS: Bool = false, _ isProxied: Bool) {
            (self.environment, self.host, self.isTLS, self.isProxied) = (environment, host, isTLS, isProxied)
        }
    }

    static let cases = [
        Case([:], "example.com", false),
        Case(["http_proxy": "http://p"], "example.com", true),
        Case(["http_proxy": ""], "example.com", false),
        Case(["http_proxy": "http://p"], "example.com", tls: true, false),
        Case(["HTTP_PROXY": "http://p"], "example.com", false),
        Case(["HTTPS_PROXY": "http://p"], "example.com", tls: true, true),
        Case(["ALL_PROXY": "http://p"], "example.com", true),
        Case(["all_proxy": "socks5://p"], "example.com", tls: true, true),
        Case(["http_proxy": "http://p", "no_proxy": "example.com"], "a.example.com", false),
        Case(["http_proxy": "http://p", "NO_PROXY": "10.0.0.0/8"], "10.1.2.3", false),
        Case(["http_proxy": "http://p", "NO_PROXY": "10.0.0.0/8"], "11.1.2.3", true),
        Case(["http_proxy": "http://p", "no_proxy": "a.test", "NO_PROXY": "*"], "b.test", true),
        Case(["http_proxy": "http://p", "no_proxy": "::1"], "::1", false),
    ]

    @Test(arguments: cases)
    func environmentDecidesWhetherHostIsProxied(item: Case) {
        let isProxied = ProxyPlan.environmentNamesProxy(for: item.host, isTLS: item.isTLS, in: item.environment)
        #expect(isProxied == item.isProxied)
    }

    @Test func addressPolicyTrustsOnlyNamedProxies() throws {
        let url = { (text: String) in try #require(URL(string: text)) }
        let trusted = AddressPolicy.publicOnlyBehind(proxies: [try url("http://proxy.test:3128")])
        let allowed = Proxy.url(try url("HTTP://u:p@PROXY.test:3128"))
        #expect(ProxyPlan.isAllowed(allowed, trusted))
        #expect(ProxyPlan.isAllowed(.none, trusted) && ProxyPlan.isAllowed(.none, .publicOnly))
        #expect(ProxyPlan.isAllowed(allowed, .any) && ProxyPlan.isAllowed(.environment, .any))
        #expect(!ProxyPlan.isAllowed(allowed, .publicOnly))
        #expect(!ProxyPlan.isAllowed(.environment, trusted))
        for other in [
            "http://proxy.test:3129", "http://other.test:3128", "socks5://proxy.test:3128", "http://proxy.test",
        ] {
            #expect(!ProxyPlan.isAllowed(.url(try url(other)), trusted), "\(other)")
        }
    }

    /// Exclusions are compared with the host that libcurl connects to, in every spelling of the URL.
    @Test(arguments: [
        ("http://example.com/", false), ("http://localhost/", true), ("https://LOCALHOS%74:8080/", true),
        ("http://192.168.7.1", true), ("http://192.168.1793/", true), ("http://0xc0a80701/", true),
        ("http://3232237313/", true), ("http://192%2E168.7.1/?x", true), ("http://[::1]:80/", true),
        ("http://[::2]/", false),
        ("http://intern%2Ecorp/", true), ("http://intern.corporation/", false),
    ])
    func exclusionsDecideWhetherHostIsProxied(_ url: String, _ isExcluded: Bool) throws {
        let proxy = Proxy.url(
            try #require(URL(string: "http://p:3128")), exclusions: ["localhost", "192.168.0.0/16", "::1", ".corp"])
        var configuration = TransportConfiguration()
        configuration.proxy = proxy
        for own in [nil, proxy] {
            if own != nil { configuration.proxy = .none }
            let planner = RequestPlanner(configuration, RequestPlanTests.capabilities)
            // Twice, because the second plan is made from the cached plan of the first.
            for _ in 0..<2 {
                var request = TransferRequest(
                    identifier: TaskIdentifier(rawValue: 1), url: try #require(URL(string: url)))
                request.options.proxy = own
                let plan = try planner.plan(request, bodyLength: nil)
                #expect(plan.leavesOutProxy == isExcluded)
                let last = plan.settings.last { $0.description.hasPrefix("PROXY=") }?.description
                #expect(last == (isExcluded ? "PROXY=\"\"" : own == nil ? nil : "PROXY=\"http://p:3128\""))
            }
        }
    }
}
