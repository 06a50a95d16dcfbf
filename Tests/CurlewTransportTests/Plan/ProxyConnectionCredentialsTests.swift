import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Connections to proxies")
struct ProxyConnectionCredentialsTests {
    private func proxy(_ user: String?, _ url: String = "http://proxy.test:3128") throws -> Proxy {
        .url(try #require(URL(string: url)), username: user, password: user == nil ? nil : "secret")
    }

    @Test func proxyConnectionsBelongToTheFirstCredentials() throws {
        let owners = ProxyConnectionCredentials(.none, environmentNamesProxy: false)
        #expect(owners.claim(try proxy("a")))
        #expect(!owners.claim(try proxy(nil)))
        #expect(!owners.claim(try proxy("b")))
        #expect(owners.claim(try proxy(nil, "http://a:secret@PROXY.test:3128")))
        #expect(owners.claim(try proxy("b", "http://other.test:3128")))
        // The default port is libcurl's, and the host is compared as libcurl parses it.
        #expect(owners.claim(try proxy("a", "http://127.0.0.9")))
        #expect(!owners.claim(try proxy("b", "http://127.0.0.9:1080")))
        #expect(!owners.claim(try proxy("b", "http://127.9:1080")))
        // libcurl compares the credentials of SOCKS proxies itself.
        #expect(owners.claim(try proxy("b", "socks5://proxy.test:3128")))
        #expect(owners.claim(.none))
    }

    @Test func proxyConnectionsBelongToTransportsCredentials() throws {
        let owners = ProxyConnectionCredentials(try proxy("a"), environmentNamesProxy: false)
        #expect(!owners.claim(try proxy(nil)))
        #expect(owners.claim(try proxy("a")))
    }

    @Test func proxyConnectionsAreNotSharedWithEnvironmentProxy() throws {
        let environments = ProxyConnectionCredentials(.environment, environmentNamesProxy: true)
        #expect(!environments.claim(try proxy("a")))
        #expect(!environments.claim(try proxy(nil)))
        #expect(environments.claim(.environment))
        #expect(environments.claim(.none))
        #expect(!ProxyConnectionCredentials(try proxy("a"), environmentNamesProxy: true).claim(.environment))
        let unnamed = ProxyConnectionCredentials(.environment, environmentNamesProxy: false)
        #expect(unnamed.claim(.environment))
        #expect(unnamed.claim(try proxy("a")))
    }

    @Test func proxyConnectionsAreNotUsedWithOtherCredentials() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = try proxy("a")
        let planner = RequestPlanner(configuration, RequestPlanTests.capabilities)
        func connectsAlone(_ url: String, _ proxy: Proxy?) throws -> Bool {
            let wanted = request(try #require(URL(string: url))) { $0.options.proxy = proxy }
            let plan = try planner.plan(wanted, bodyLength: nil)
            let texts = plan.settings.map(\.description)
            #expect(plan.isAlone == (texts.contains("FRESH_CONNECT=1") && texts.contains("FORBID_REUSE=1")))
            return plan.isAlone
        }
        #expect(try connectsAlone("https://a.test/", proxy(nil)))
        #expect(try !connectsAlone("https://a.test/", proxy("a")))
        #expect(try !connectsAlone("https://a.test/", nil))
        // NTLM and Negotiate authenticate the connection to the proxy even without a tunnel.
        #expect(try connectsAlone("http://a.test/", proxy(nil)))
        #expect(try !connectsAlone("http://a.test/", proxy("a")))
        #expect(try !connectsAlone("http://a.test/", nil))
    }
}
