import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Connections to proxies")
struct ProxyConnectionCredentialsTests {
    private func proxy(_ user: String?, _ url: String = "http://proxy.test:3128") throws -> Proxy {
        .url(try #require(URL(string: url)), username: user, password: user == nil ? nil : "secret")
    }

    @Test func belongToTheCredentialsThatCameFirst() throws {
        let owners = ProxyConnectionCredentials(.none, environmentNamesProxy: false)
        #expect(owners.mayShare(try proxy("a")))
        #expect(!owners.mayShare(try proxy(nil)))
        #expect(!owners.mayShare(try proxy("b")))
        #expect(owners.mayShare(try proxy(nil, "http://a:secret@PROXY.test:3128")))
        #expect(owners.mayShare(try proxy("b", "http://other.test:3128")))
        // The default port is libcurl's, and the host is compared as libcurl parses it.
        #expect(owners.mayShare(try proxy("a", "http://127.0.0.9")))
        #expect(!owners.mayShare(try proxy("b", "http://127.0.0.9:1080")))
        #expect(!owners.mayShare(try proxy("b", "http://127.9:1080")))
        // libcurl compares the credentials of SOCKS proxies itself.
        #expect(owners.mayShare(try proxy("b", "socks5://proxy.test:3128")))
        #expect(owners.mayShare(.none))
    }

    @Test func belongToTheTransportsOwn() throws {
        let owners = ProxyConnectionCredentials(try proxy("a"), environmentNamesProxy: false)
        #expect(!owners.mayShare(try proxy(nil)))
        #expect(owners.mayShare(try proxy("a")))
    }

    @Test func areNobodysIfTheEnvironmentMayNameTheSameProxy() throws {
        let environments = ProxyConnectionCredentials(.environment, environmentNamesProxy: true)
        #expect(!environments.mayShare(try proxy("a")))
        #expect(!environments.mayShare(try proxy(nil)))
        #expect(environments.mayShare(.environment))
        #expect(environments.mayShare(.none))
        #expect(!ProxyConnectionCredentials(try proxy("a"), environmentNamesProxy: true).mayShare(.environment))
        let unnamed = ProxyConnectionCredentials(.environment, environmentNamesProxy: false)
        #expect(unnamed.mayShare(.environment))
        #expect(unnamed.mayShare(try proxy("a")))
    }

    @Test func areNotUsedWithOtherCredentials() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = try proxy("a")
        let planner = RequestPlanner(configuration, RequestPlanTests.capabilities)
        func connectsAlone(_ url: String, _ proxy: Proxy?) throws -> Bool {
            let wanted = request(try #require(URL(string: url))) { $0.options.proxy = proxy }
            let plan = try RequestPlan.of(wanted, planner: planner, bodyLength: nil)
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
