import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Which hosts are reached through a proxy")
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
    func byTheEnvironment(item: Case) {
        let isProxied = ProxyPlan.isProxied(.environment, host: item.host, isTLS: item.isTLS) { item.environment }
        #expect(isProxied == item.isProxied)
    }

    @Test func byTheConfiguration() throws {
        let proxy = Proxy.url(try #require(URL(string: "http://p:3128")), exclusions: ["localhost", "192.168.0.0/16"])
        for (host, isProxied) in [("example.com", true), ("localhost", false), ("192.168.7.1", false)] {
            #expect(ProxyPlan.isProxied(proxy, host: host, isTLS: true) { [:] } == isProxied)
            #expect(!ProxyPlan.isProxied(.none, host: host, isTLS: true) { ["all_proxy": "http://p"] })
        }
    }
}
